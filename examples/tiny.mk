# A tiny policy that is taught a grammar of CUDA kernels from nothing (examples/tiny), and then LEAP steps on it:
#   make -f examples/tiny.mk OUT=out/tiny                     one run of 24 steps
#   make -f examples/tiny.mk OUT=out/tiny SEEDS="1 2 3"       three runs from the same policy
#   make -f examples/tiny.mk OUT=out/tiny policy              only the policy, OUT/policy, for other experiments
# OUT/seedN/stepM holds every file of a step; OUT/curve.jsonl and OUT/curve.svg show what the runs learned.
# Stopped at any moment and started again, it goes on where it was. The tools are taken from PATH.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

OUT         ?= out/tiny
SEEDS       ?= 1
STEPS       ?= 24
# Problems (of 34), the author's draws of each, and what the policy is taught from them.
PROBLEM_COUNT ?= 34
DRAWS       ?= 40
LESSON_STEPS ?= 150
LESSONS     ?= 32
LESSON_LR   ?= 3e-3
# A LEAP step.
BATCH       ?= 17
ROLLOUTS    ?= 8
TURNS       ?= 3
MAX_TOKENS  ?= 160
TEMPERATURE ?= 1
LR          ?= 2e-4
RANK_FLAGS  ?= --drop-flat --recenter
# Fresh draws a problem, before and after the steps.
CHECKS      ?= 16

here  := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
cache := --cache $(OUT)/cache
teach := $(here)/tiny/teach
export OMP_WAIT_POLICY := PASSIVE
export ROLLOUTS TURNS MAX_TOKENS TEMPERATURE LR RANK_FLAGS

.PHONY: all policy
.SECONDARY:
.DELETE_ON_ERROR:
all: $(OUT)/curve.svg
policy: $(OUT)/taught-steps.jsonl

$(OUT)/problems.jsonl: $(teach) $(here)/tiny/grammar.py
	@mkdir -p $(OUT)
	$(teach) problems -n $(PROBLEM_COUNT) > $@

# Three turns of the author's. What is right, and the feedback, is leap-verify's to say.
$(OUT)/taught.jsonl: $(OUT)/problems.jsonl
	$(teach) draw -n $(DRAWS) $< | leap-verify $(cache) | $(teach) draw | leap-verify $(cache) | $(teach) draw > $@

$(OUT)/lessons.jsonl: $(OUT)/taught.jsonl
	rm -rf $(OUT)/policy $(OUT)/taught-steps.jsonl.part
	$(teach) lessons --count $$(($(LESSON_STEPS) * $(LESSONS))) $< > $@

$(OUT)/init/model.safetensors: $(OUT)/lessons.jsonl
	$(here)/tiny/make-model --out $(@D) $<

# The policy is $(OUT)/policy; this file has a line for each of its steps.
$(OUT)/taught-steps.jsonl: $(OUT)/lessons.jsonl $(OUT)/init/model.safetensors
	rl-update --loss sft --model $(OUT)/init --out $(OUT)/policy --resume $(OUT)/policy --records-per-step $(LESSONS) \
	  --lr $(LESSON_LR) --warmup-steps 10 --schedule linear --schedule-steps $(LESSON_STEPS) --tokens-per-batch 4096 $< >> $@.part
	mv $@.part $@

define check # of a policy, on fresh draws: seed, directory of the model, output
leap-sample --model $(2) -n $(CHECKS) --max-tokens $(MAX_TOKENS) --temperature $(TEMPERATURE) --seed $(1) $(OUT)/problems.jsonl | \
  leap-verify $(cache) > $(3).part && mv $(3).part $(3)
endef

$(OUT)/seed%/before.jsonl: $(OUT)/taught-steps.jsonl
	@mkdir -p $(@D)
	$(call check,90000$*,$(OUT)/policy,$@)

$(OUT)/seed%/step$(STEPS)/metrics.jsonl: $(OUT)/taught-steps.jsonl
	MAKEFLAGS= SEED=$* VERIFY_FLAGS="$(cache)" UPDATE_FLAGS="--warmup-steps 4 --tokens-per-batch 4096" \
	  $(here)/train-loop $(OUT)/policy $(OUT)/seed$* $(STEPS) $(OUT)/problems.jsonl $(BATCH) 2>> $(OUT)/seed$*.log

$(OUT)/seed%/after$(STEPS).jsonl: $(OUT)/seed%/step$(STEPS)/metrics.jsonl
	$(call check,91000$*,$(OUT)/seed$*/step$(STEPS)/model,$@)

$(OUT)/curve.svg: $(foreach seed,$(SEEDS),$(OUT)/seed$(seed)/before.jsonl $(OUT)/seed$(seed)/after$(STEPS).jsonl)
	$(here)/tiny/curve --steps $(STEPS) --svg $@ --jsonl $(OUT)/curve.jsonl $(SEEDS:%=$(OUT)/seed%)
