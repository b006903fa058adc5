# One LEAP step with every stage a file, so that any stage can be looked at, or run again alone:
#   make -f examples/leap.mk OUT=out/mine PROBLEMS=problems.jsonl            everything
#   make -f examples/leap.mk OUT=out/mine out/mine/turn2.verified.jsonl      up to one stage
#   rm out/mine/ranked.jsonl; make -f examples/leap.mk OUT=out/mine RANK_FLAGS=--recenter out/mine/ranked.jsonl
# A stage that was interrupted goes on where it was (--resume). The tools are taken from PATH.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

OUT         ?= out/leap
PROBLEMS    ?= examples/problems/python/trivial.jsonl
MODEL       ?= models/smollm2
ROLLOUTS    ?= 8
TURNS       ?= 3
MAX_TOKENS  ?= 160
TEMPERATURE ?= 0.8
SEED        ?= 0
LR          ?= 1e-6
SAMPLE_FLAGS ?=
VERIFY_FLAGS ?=
PRUNE_FLAGS  ?=
RANK_FLAGS   ?=
UPDATE_FLAGS ?=

turns := $(shell seq 1 $(TURNS))
last  := $(OUT)/turn$(TURNS).verified.jsonl

.PHONY: all
.SECONDARY:
all: $(OUT)/metrics.jsonl

# Stages append to FILE.part, which --resume understands, and give it its name when it is complete.
stage = --resume $@.part $< && mv $@.part $@

define turn_rules
$(OUT)/turn$(1).sampled.jsonl: $(if $(filter 1,$(1)),$(PROBLEMS),$(OUT)/turn$(shell expr $(1) - 1).pruned.jsonl)
	@mkdir -p $$(@D)
	leap-sample --model $$(MODEL) -n $$(ROLLOUTS) --max-tokens $$(MAX_TOKENS) --temperature $$(TEMPERATURE) --seed $$(SEED) $$(SAMPLE_FLAGS) $$(stage)

$(OUT)/turn$(1).verified.jsonl: $(OUT)/turn$(1).sampled.jsonl
	leap-verify $$(VERIFY_FLAGS) $$(stage)

$(OUT)/turn$(1).pruned.jsonl: $(OUT)/turn$(1).verified.jsonl
	leap-prune --max-turns $$(TURNS) $$(PRUNE_FLAGS) --summary $(OUT)/turn$(1).prune.json $$(stage)
endef
$(foreach turn,$(turns),$(eval $(call turn_rules,$(turn))))

$(OUT)/ranked.jsonl: $(last)
	leap-rank $(RANK_FLAGS) --summary $(OUT)/rank.json $(stage)

# The new checkpoint is $(OUT)/model; its metrics, one line a step, stand beside it.
$(OUT)/metrics.jsonl: $(OUT)/ranked.jsonl
	rm -rf $(OUT)/model
	rl-update --model $(MODEL) --out $(OUT)/model --lr $(LR) $(UPDATE_FLAGS) $< > $@.part
	mv $@.part $@
