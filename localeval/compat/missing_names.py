"""Names and arguments of ragas that can't work here, each with what to use instead."""

from __future__ import annotations

_RETRIEVAL = "use ContextPrecision and ContextRecall, which the judge decides"
_STRINGS = "it compares texts without a judge; use FactualCorrectness for a judged comparison"
_CRITERIA = "use the metrics of localeval that fit (`localeval.METRICS` lists them)"
_AGENTS = "localeval judges answers from contexts, and no agents or tools"
_JUDGE = 'judges are local: give llm="qwen2.5-coder-1.5b", the path of a GGUF file, or Judge.load(...)'
_EMBEDDER = 'embedders are local: give embeddings="all-minilm-l6-v2", or the path of a folder'
_EXPERIMENT = "use evaluate(..., output=FOLDER) and `localeval compare`"
_CACHE = "judgements are kept in the folder of evaluate(..., output=FOLDER)"

NAMES = {
    "AgentGoalAccuracy": _AGENTS,
    "AgentGoalAccuracyWithReference": _AGENTS,
    "AgentGoalAccuracyWithoutReference": _AGENTS,
    "AnswerAccuracy": "use FactualCorrectness",
    "AnswerCorrectness": "use FactualCorrectness, the part of it that a judge decides",
    "AnswerSimilarity": _STRINGS,
    "AspectCritic": _CRITERIA,
    "BleuScore": _STRINGS,
    "CHRFScore": _STRINGS,
    "ChrfScore": _STRINGS,
    "ContextEntityRecall": "use ContextRecall, which counts statements",
    "DataCompyScore": "localeval judges answers, and no tables",
    "Dataset": "use EvaluationDataset",
    "DiscreteMetric": _CRITERIA,
    "DiskCacheBackend": _CACHE,
    "DistanceMeasure": _STRINGS,
    "DomainSpecificRubrics": _CRITERIA,
    "ExactMatch": _STRINGS,
    "IDBasedContextPrecision": _RETRIEVAL,
    "IDBasedContextRecall": _RETRIEVAL,
    "InstanceRubrics": _CRITERIA,
    "InstanceSpecificRubrics": _CRITERIA,
    "LLMSQLEquivalence": "localeval judges answers, and no SQL",
    "LangchainEmbeddingsWrapper": _EMBEDDER,
    "LangchainLLMWrapper": _JUDGE,
    "LlamaIndexEmbeddingsWrapper": _EMBEDDER,
    "LlamaIndexLLMWrapper": _JUDGE,
    "MultiModalFaithfulness": "localeval judges texts, and no images",
    "MultiModalRelevance": "localeval judges texts, and no images",
    "MultiTurnSample": "give each turn as a SingleTurnSample",
    "NonLLMContextPrecisionWithReference": _RETRIEVAL,
    "NonLLMContextRecall": _RETRIEVAL,
    "NonLLMStringSimilarity": _STRINGS,
    "NumericMetric": _CRITERIA,
    "QuotedSpansAlignment": "use Faithfulness",
    "RankingMetric": _CRITERIA,
    "ResponseGroundedness": "use Faithfulness",
    "RougeScore": _STRINGS,
    "RubricsScore": _CRITERIA,
    "RubricsScoreWithReference": _CRITERIA,
    "RubricsScoreWithoutReference": _CRITERIA,
    "SQLSemanticEquivalence": "localeval judges answers, and no SQL",
    "SemanticSimilarity": _STRINGS,
    "SimpleCriteriaScore": _CRITERIA,
    "StringPresence": _STRINGS,
    "SummarizationScore": "use Faithfulness, with the text that was summarized as the context",
    "SummaryScore": "use Faithfulness, with the text that was summarized as the context",
    "TestsetGenerator": "localeval makes no questions; give a file of yours",
    "ToolCallAccuracy": _AGENTS,
    "ToolCallF1": _AGENTS,
    "TopicAdherence": _AGENTS,
    "TopicAdherenceScore": _AGENTS,
    "answer_correctness": "use FactualCorrectness, the part of it that a judge decides",
    "answer_similarity": _STRINGS,
    "cacher": _CACHE,
    "context_entity_recall": "use ContextRecall, which counts statements",
    "discrete_metric": _CRITERIA,
    "embedding_factory": _EMBEDDER,
    "experiment": _EXPERIMENT,
    "llm_factory": _JUDGE,
    "multimodal_faithness": "localeval judges texts, and no images",
    "multimodal_relevance": "localeval judges texts, and no images",
    "numeric_metric": _CRITERIA,
    "ranking_metric": _CRITERIA,
    "summarization_score": "use Faithfulness, with the text that was summarized as the context",
}
"""Name in ragas -> what to do instead."""

_PROMPT = 'prompts are files of localeval: give prompts={"JUDGEMENT": {"en": FILE}}'
_LANGUAGE = "the language of each text decides which prompt is used; leave it out"

OPTIONS = {
    "claim_decomposition_prompt": _PROMPT,
    "context_precision_prompt": _PROMPT,
    "context_recall_prompt": _PROMPT,
    "language": _LANGUAGE,
    "nli_statements_prompt": "give nli_prompt, a prompt file of localeval",
    "question_generation": _PROMPT,
}
"""Argument of a metric in ragas -> what to do instead."""

METHODS = {
    "adapt_prompts": _LANGUAGE,
    "align": "use `localeval card`, which measures and calibrates the judge on your labels",
    "get_prompts": "`localeval.prompts` has the prompts",
    "load_prompts": _PROMPT,
    "multi_turn_ascore": "give each turn to single_turn_ascore",
    "multi_turn_score": "give each turn to single_turn_score",
    "save_prompts": "`localeval.prompts` has the prompts",
    "set_prompts": _PROMPT,
    "train": "use `localeval card`, which measures and calibrates the judge on your labels",
}
"""Method of a metric in ragas -> what to do instead."""
