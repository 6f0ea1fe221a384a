"""Names and arguments of ragas that can't work here, each with what to use instead."""

from __future__ import annotations

_CRITERIA = "use AspectCritic or RubricsScore, or a `localeval.Criterion`"

_NAMES_BY_REMEDY = {
    'judges are local: give llm="qwen2.5-coder-1.5b", the path of a GGUF file, or Judge.load(...)': [
        "instructor_llm_factory",
        "InstructorTypeVar",
        "BaseRagasLLM",
        "HaystackLLMWrapper",
        "InstructorBaseRagasLLM",
        "InstructorLLM",
        "LangchainLLMWrapper",
        "LiteLLMStructuredLLM",
        "LlamaIndexLLMWrapper",
        "OCIGenAIWrapper",
        "llm_factory",
        "oci_genai_factory",
    ],
    'embedders are local: give embeddings="all-minilm-l6-v2", or the path of a folder': [
        "RagasBaseEmbedding",
        "BaseRagasEmbedding",
        "BaseRagasEmbeddings",
        "GoogleEmbeddings",
        "HaystackEmbeddingsWrapper",
        "HuggingFaceEmbeddings",
        "HuggingfaceEmbeddings",
        "LangchainEmbeddingsWrapper",
        "LiteLLMEmbeddings",
        "LlamaIndexEmbeddingsWrapper",
        "OpenAIEmbeddings",
        "embedding_factory",
    ],
    _CRITERIA: [
        "SUPPORTED_ASPECTS",
        "coherence",
        "conciseness",
        "correctness",
        "harmfulness",
        "maliciousness",
        "DiscreteMetric",
        "InstanceRubrics",
        "InstanceSpecificRubrics",
        "NumericMetric",
        "RankingMetric",
        "SimpleCriteriaScore",
        "discrete_metric",
        "numeric_metric",
        "ranking_metric",
    ],
    "a metric of your own is a function that `localeval.register` takes": [
        "Ensember",
        "ModeMetric",
        "SimpleBaseMetric",
        "SimpleLLMMetric",
        "BaseMetric",
        "LLMMetric",
        "Metric",
        "MetricOutputType",
        "MetricType",
        "MetricWithEmbeddings",
        "MetricWithLLM",
        "MultiTurnMetric",
        "SingleTurnMetric",
    ],
    "use exact_match, token_f1, chrf or rouge_l of `localeval.evaluate`, which ask no judge": [
        "BleuScore",
        "DistanceMeasure",
        "NonLLMStringSimilarity",
        "StringPresence",
    ],
    "use FactualCorrectness or AnswerCorrectness": ["AnswerAccuracy"],
    "use retrieval_precision and retrieval_recall of `localeval.evaluate`, which ask no judge": [
        "IDBasedContextPrecision",
        "IDBasedContextRecall",
        "NonLLMContextPrecisionWithReference",
        "NonLLMContextRecall",
    ],
    "use ContextRecall, which counts statements": ["ContextEntityRecall", "context_entity_recall"],
    "use Faithfulness": ["QuotedSpansAlignment", "ResponseGroundedness"],
    "use Faithfulness, with the text that was summarized as the context": [
        "SummarizationScore",
        "SummaryScore",
        "summarization_score",
    ],
    "localeval judges answers from contexts, and no agents or tools": [
        "AgentGoalAccuracy",
        "AgentGoalAccuracyWithReference",
        "AgentGoalAccuracyWithoutReference",
        "ToolCallAccuracy",
        "ToolCallF1",
        "TopicAdherence",
        "TopicAdherenceScore",
    ],
    "localeval judges answers, and no tables or SQL": [
        "DataCompyScore",
        "LLMSQLEquivalence",
        "SQLSemanticEquivalence",
    ],
    "localeval judges texts, and no images": [
        "MultiModalFaithfulness",
        "MultiModalRelevance",
        "multimodal_faithness",
        "multimodal_relevance",
    ],
    "write `from localeval.compat import NAME` for the names of each module": [
        "dataset_schema",
        "embeddings",
        "integrations",
        "llms",
        "messages",
        "metrics",
        "run_config",
        "testset",
    ],
    "give each turn as a SingleTurnSample": ["MultiTurnSample"],
    'give a message as {"role": "user", "content": "..."} in the user_input of a SingleTurnSample': [
        "AIMessage",
        "HumanMessage",
        "Message",
        "ToolCall",
        "ToolMessage",
        "convert_to_ragas_messages",
    ],
    "localeval makes no questions; give a file of yours": [
        "HeadlineSplitter",
        "HeadlinesExtractor",
        "KeyphrasesExtractor",
        "KnowledgeGraph",
        "NERExtractor",
        "Node",
        "NodeType",
        "Parallel",
        "Persona",
        "Relationship",
        "SingleHopSpecificQuerySynthesizer",
        "SummaryExtractor",
        "Testset",
        "TestsetGenerator",
        "TestsetSample",
        "apply_transforms",
        "default_query_distribution",
        "default_transforms",
        "generate_personas_from_kg",
    ],
    'prompts are files of localeval: give prompts={"JUDGEMENT": {"en": FILE}} to a metric': [
        "BasePrompt",
        "FewShotPydanticPrompt",
        "Prompt",
        "PromptMixin",
        "PydanticPrompt",
        "StringPrompt",
    ],
    "no tokens are paid for here; leave it out": [
        "CostCallbackHandler",
        "TokenUsage",
        "get_token_usage_for_anthropic",
        "get_token_usage_for_azure_ai",
        "get_token_usage_for_bedrock",
        "get_token_usage_for_openai",
    ],
    "call aevaluate, and cancel its task": ["Executor"],
    "use `localeval card`, which measures and calibrates the judge on your labels": [
        "DSPyOptimizer",
        "DemonstrationConfig",
        "GeneticOptimizer",
        "InstructionConfig",
        "MetricAnnotation",
        "Optimizer",
        "SampleAnnotation",
    ],
    "here a metric is itself a Runnable: write chain | Faithfulness(llm=judge)": ["EvaluatorChain"],
    "give evaluate(..., callbacks=[...])": ["RagasTracer"],
    "catch localeval.LocalevalError": [
        "ExceptionInRunner",
        "LLMDidNotFinishException",
        "RagasException",
        "RagasOutputParserException",
    ],
    "use EvaluationDataset": [
        "BaseSample",
        "DataTable",
        "Dataset",
        "RagasDataset",
        "transform_to_ragas_dataset",
    ],
    "use evaluate(..., output=FOLDER) and `localeval compare`": [
        "Experiment",
        "backends",
        "experiment",
        "version_experiment",
    ],
    "judgements are kept in the folder of evaluate(..., output=FOLDER)": [
        "CacheInterface",
        "DiskCacheBackend",
        "cacher",
    ],
    "the judge's file has its tokenizer": [
        "BaseTokenizer",
        "HuggingFaceTokenizer",
        "TiktokenWrapper",
        "get_tokenizer",
    ],
}

NAMES = {name: remedy for remedy, names in _NAMES_BY_REMEDY.items() for name in names}
"""Name in ragas -> what to do instead."""

_PROMPT = 'prompts are files of localeval: give prompts={"JUDGEMENT": {"en": FILE}}'
_LANGUAGE = "the language of each text decides which prompt is used; leave it out"
_OWN = "keep what makes the metric in your script"
_LABELS = "use `localeval card`, which measures and calibrates the judge on your labels"

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
    "align": _LABELS,
    "get_prompts": _PROMPT,
    "load_prompts": _PROMPT,
    "load": _OWN,
    "multi_turn_ascore": "give each turn to single_turn_ascore",
    "multi_turn_score": "give each turn to single_turn_score",
    "output_type": "every score is a number from 0 to 1",
    "save": _OWN,
    "save_prompts": _PROMPT,
    "set_prompts": _PROMPT,
    "train": _LABELS,
}
"""Method or property of a metric in ragas -> what to do instead."""

_COST = "no tokens are paid for here"
_RECORDS = "the records are in judged[COLUMN][SAMPLE].records"

RESULT_NAMES = {
    "cost_cb": _COST,
    "ragas_traces": _RECORDS,
    "run_id": "give evaluate(..., output=FOLDER), and name the run by its folder",
    "total_cost": _COST,
    "total_tokens": _COST,
    "traces": _RECORDS,
    "upload": "give evaluate(..., output=FOLDER), and make a page with `localeval report`",
}
"""Method or property of a result in ragas -> what to do instead."""
