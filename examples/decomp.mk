# One DecompRL step with every stage a file, so that any stage can be looked at, or run again alone:
#   make -f examples/decomp.mk OUT=out/mine PROBLEMS=problems.jsonl TRAIN=decomposition
#   make -f examples/decomp.mk OUT=out/mine out/mine/recombined.jsonl        up to one stage
# A stage that was interrupted goes on where it was (--resume). The tools are taken from PATH.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

OUT             ?= out/decomp
PROBLEMS        ?= examples/problems/python/trivial.jsonl
MODEL           ?= models/smollm2
# What this step trains: the decompositions or the implementations, never both.
TRAIN           ?= implementation
DECOMPOSITIONS  ?= 8
IMPLEMENTATIONS ?= 8
MAX_TOKENS      ?= 512
TEMPERATURE     ?= 1
SEED            ?= 0
BETA            ?= $(if $(filter decomposition,$(TRAIN)),0.3,0.1)
LR              ?= 1e-6
SAMPLE_FLAGS    ?=
SPLIT_FLAGS     ?=
RECOMBINE_FLAGS ?=
UPDATE_FLAGS    ?=

.PHONY: all
.SECONDARY:
all: $(OUT)/metrics.jsonl

# Stages append to FILE.part, which --resume understands, and give it its name when it is complete.
stage  = --resume $@.part $< && mv $@.part $@
sample = leap-sample --model $(MODEL) --max-tokens $(MAX_TOKENS) --temperature $(TEMPERATURE) --seed $(SEED) $(SAMPLE_FLAGS)

$(OUT)/decomposed.jsonl: $(PROBLEMS)
	@mkdir -p $(@D)
	$(sample) --stage decompose -n $(DECOMPOSITIONS) $(stage)

$(OUT)/split.jsonl: $(OUT)/decomposed.jsonl
	decomp-split $(SPLIT_FLAGS) $(stage)

$(OUT)/implemented.jsonl: $(OUT)/split.jsonl
	$(sample) --stage implement -n $(IMPLEMENTATIONS) $(stage)

$(OUT)/recombined.jsonl: $(OUT)/implemented.jsonl
	decomp-recombine --beta $(BETA) --seed $(SEED) --summary $(OUT)/recombine.json $(RECOMBINE_FLAGS) $(stage)

# The new checkpoint is $(OUT)/model; its metrics, one line a step, stand beside it.
$(OUT)/metrics.jsonl: $(OUT)/recombined.jsonl
	rm -rf $(OUT)/model
	rl-update --train $(TRAIN) --model $(MODEL) --out $(OUT)/model --lr $(LR) $(UPDATE_FLAGS) $< > $@.part
	mv $@.part $@
