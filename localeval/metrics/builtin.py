"""The metrics that localeval comes with: one registration each. Their functions are in `formulas`."""

from __future__ import annotations

from functools import partial

from localeval.metrics import formulas
from localeval.metrics.metric import Metric, register

_CONTEXT_COLUMNS = ("response", "retrieved_contexts")
_ALL_COLUMNS = ("response", "retrieved_contexts", "reference")
_REFERENCE_COLUMNS = ("response", "reference")
_SUPPORT = ("statements", "support")
_BOTH_WAYS = ("statements", "reference_statements", "response_in_reference", "reference_in_response")
_SUPPORT_BY_BOTH = ("statements", "support", "response_in_reference")

register(
    Metric(
        name="faithfulness",
        version="1",
        columns=_CONTEXT_COLUMNS,
        judgements=_SUPPORT,
        compute=formulas.share,
        definition="supported statements / all statements of the response",
        definition_zh="有依据的陈述 / 回答中的全部陈述",
        source="RAGAS (Es et al. 2023)",
        undefined=("no_statements",),
        by_default=True,
        baseline="lexical precision",
        agreement="calibration of full_support",
        fits_calibration=True,
    )
)
register(
    Metric(
        name="full_support",
        version="2",
        columns=_CONTEXT_COLUMNS,
        judgements=_SUPPORT,
        compute=formulas.full_support,
        definition="1 if every statement of the response is supported, else 0; soft is P(all supported)",
        definition_zh="回答的每条陈述都有依据时为 1，否则为 0；soft 为 P(全部有依据)",
        source="FACTS Grounding (Jacovi et al. 2025)",
        undefined=("no_statements",),
        by_default=True,
        baseline="lexical precision",
        agreement="calibration",
    )
)
register(
    Metric(
        name="groundedness",
        version="2",
        columns=_CONTEXT_COLUMNS,
        judgements=("grounding",),
        compute=formulas.groundedness,
        definition="1 if P(every sentence is supported), by a head, is at least the threshold, else 0; "
        "soft is P",
        definition_zh="由读出头判断的 P(每句话都有依据) 不低于阈值时为 1，否则为 0；soft 即该概率",
        source="FACTS Grounding (Jacovi et al. 2025), by a probe on hidden states (Azaria and Mitchell 2023)",
        undefined=("no_statements",),
        baseline="lexical precision",
        agreement="head",
    )
)
register(
    Metric(
        name="faithfulness_hhem",
        version="1",
        columns=_CONTEXT_COLUMNS,
        judgements=("statements", "support_hhem"),
        compute=partial(formulas.share, judgement="support_hhem"),
        definition="supported statements / all statements of the response, decided by HHEM-2.1-Open",
        definition_zh="有依据的陈述 / 回答中的全部陈述，由 HHEM-2.1-Open 判断",
        source="ragas' FaithfulnesswithHHEM",
        undefined=("no_statements",),
        baseline="lexical precision",
    )
)
register(
    Metric(
        name="answer_relevance",
        version="2",
        columns=("user_input", "response"),
        judgements=("questions", "similarity"),
        compute=formulas.answer_relevance,
        definition="mean over n questions drawn from the response of cos(user_input, question) x sufficiency",
        definition_zh="由回答生成 n 个问题，各取 cos(原问题, 生成的问题) × 充分性，求均值",
        source="RAGAS (Es et al. 2023), with sufficiency added; see `relevance`",
        undefined=("no_statements",),
        by_default=True,
    )
)
register(
    Metric(
        name="context_relevance",
        version="3",
        columns=("user_input", "retrieved_contexts"),
        judgements=("needed",),
        compute=formulas.context_relevance,
        definition="needed sentences / all sentences of the contexts; 0 if they can't answer the question",
        definition_zh="需要的句子 / 上下文的全部句子；据上下文无法回答时为 0",
        source="RAGAS (Es et al. 2023)",
        undefined=("no_contexts",),
        by_default=True,
    )
)
register(
    Metric(
        name="context_precision",
        version="1",
        columns=("user_input", "retrieved_contexts"),
        either=("reference", "response"),
        judgements=("useful",),
        compute=formulas.context_precision,
        definition="mean over the useful contexts' ranks k of precision@k",
        definition_zh="在各个有用上下文的位次 k 上，前 k 个的精确率的均值",
        source="ragas' LLMContextPrecision",
        undefined=("no_contexts",),
    )
)
register(
    Metric(
        name="context_usefulness",
        version="1",
        columns=("user_input", "retrieved_contexts"),
        either=("reference", "response"),
        judgements=("useful",),
        compute=formulas.context_usefulness,
        definition="useful contexts / all contexts",
        definition_zh="有用的上下文 / 全部上下文",
        source="RAGAS' context precision without ranks",
        undefined=("no_contexts",),
    )
)
register(
    Metric(
        name="context_recall",
        version="1",
        columns=("reference", "retrieved_contexts"),
        judgements=("reference_statements", "reference_in_contexts"),
        compute=partial(formulas.share, judgement="reference_in_contexts", none="no_reference_statements"),
        definition="statements of the reference that the contexts support / all of them",
        definition_zh="参考答案中有上下文依据的陈述 / 其全部陈述",
        source="ragas' LLMContextRecall; RAGChecker's claim recall",
        undefined=("no_reference_statements",),
        aliases=("claim_recall",),
    )
)
register(
    Metric(
        name="factual_correctness",
        version="1",
        columns=_REFERENCE_COLUMNS,
        judgements=_BOTH_WAYS,
        compute=formulas.factual_correctness,
        definition="F1 (or precision, recall, F-beta) of the response's statements against the reference's",
        definition_zh="回答的陈述对照参考答案的 F1（或精确率、召回率、F-beta）",
        source="ragas' FactualCorrectness",
        undefined=("no_reference_statements", "no_statements"),
    )
)
register(
    Metric(
        name="semantic_similarity",
        version="1",
        columns=_REFERENCE_COLUMNS,
        judgements=("semantic_similarity",),
        compute=formulas.semantic_similarity,
        definition="cosine of the embeddings of response and reference",
        definition_zh="回答与参考答案的嵌入向量的余弦",
        source="ragas' SemanticSimilarity",
    )
)
register(
    Metric(
        name="answer_correctness",
        version="1",
        columns=_REFERENCE_COLUMNS,
        judgements=(*_BOTH_WAYS, "semantic_similarity"),
        compute=formulas.answer_correctness,
        definition="0.75 x F1 of statements (factual_correctness) + 0.25 x semantic_similarity",
        definition_zh="0.75 × 陈述的 F1（factual_correctness）+ 0.25 × semantic_similarity",
        source="ragas' AnswerCorrectness",
        undefined=("no_reference_statements",),
    )
)
register(
    Metric(
        name="context_utilization",
        version="1",
        columns=_ALL_COLUMNS,
        judgements=("reference_statements", "reference_in_contexts", "reference_in_response"),
        compute=formulas.context_utilization,
        definition="statements of the reference that contexts and response support / "
        "those that the contexts support",
        definition_zh="参考答案中上下文和回答都支持的陈述 / 其中上下文支持的陈述",
        source="RAGChecker (Ru et al. 2024)",
        undefined=("no_reference_statements", "nothing_retrieved"),
    )
)
register(
    Metric(
        name="noise_sensitivity",
        version="1",
        columns=_ALL_COLUMNS,
        judgements=_SUPPORT_BY_BOTH,
        compute=partial(formulas.share_of_kind, in_contexts=True, in_reference=False),
        definition="statements of the response that the contexts support and the reference does not / "
        "all of them",
        definition_zh="回答中有上下文依据、但参考答案不支持的陈述 / 全部陈述",
        source="RAGChecker (Ru et al. 2024)",
        undefined=("no_statements",),
        higher_is_better=False,
    )
)
register(
    Metric(
        name="hallucination",
        version="1",
        columns=_ALL_COLUMNS,
        judgements=_SUPPORT_BY_BOTH,
        compute=partial(formulas.share_of_kind, in_contexts=False, in_reference=False),
        definition="statements of the response that neither contexts nor reference support / all of them",
        definition_zh="回答中上下文和参考答案都不支持的陈述 / 全部陈述",
        source="RAGChecker (Ru et al. 2024)",
        undefined=("no_statements",),
        higher_is_better=False,
        baseline="lexical precision",
    )
)
register(
    Metric(
        name="self_knowledge",
        version="1",
        columns=_ALL_COLUMNS,
        judgements=_SUPPORT_BY_BOTH,
        compute=partial(formulas.share_of_kind, in_contexts=False, in_reference=True),
        definition="statements of the response that the reference supports and the contexts do not / "
        "all of them",
        definition_zh="回答中参考答案支持、但没有上下文依据的陈述 / 全部陈述",
        source="RAGChecker (Ru et al. 2024)",
        undefined=("no_statements",),
    )
)
