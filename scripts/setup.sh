#!/usr/bin/env bash
# Installs what is missing: Debian packages (as root or through sudo), and the virtual environment .venv. With the
# argument "demo" what building and the demo need, else also what tests, documentation and wheels need.
# Does nothing, and needs no network, when everything is there. PYTHON chooses the interpreter for .venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly purpose=${1:-all}
case $purpose in demo) requirements=scripts/requirements-demo.txt ;; *) requirements=scripts/requirements.txt ;; esac
packages=(
  g++ cmake ninja-build pkg-config
  libasio-dev libcli11-dev libspdlog-dev libssl-dev libzstd-dev nlohmann-json3-dev libtomlplusplus-dev
  libibverbs-dev librdmacm-dev # headers only
  ocl-icd-opencl-dev ocl-icd-libopencl1 opencl-headers pocl-opencl-icd
  python3-venv python3-dev
)
if [[ $purpose != demo ]]; then
  packages+=(
    ccache git libgtest-dev libgmock-dev
    clang clang-format clang-tidy # make lint
    openssh-client
    graphviz # the tests have it draw
    python3-pyopencl # for the tests: a PyOpenCL that uses the system's loader
    socat # the tests' sockets in kernels speak with it
    ffmpeg # its libraries: the tests of video need them
    mmdebstrap # make programs-short, and the roots of other releases
  )
  # The tests of SSHCluster run an sshd of their own, those of sockets in kernels a memcached. Where systemd runs, the
  # packages would start others for everybody.
  [[ -d /run/systemd/system ]] || packages+=(openssh-server memcached)
fi

fail() { echo "setup: $*" >&2; exit 1; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

install_packages() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null; then
    [[ -e .venv/.setup-stamp ]] || echo "setup: no dpkg here; these Debian packages or their like are needed: ${packages[*]}" >&2
    return
  fi
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || fail "these packages are missing and there is no sudo; as root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" |
    { grep --line-buffered -E '^(Get:|Setting up )' || true; } || fail "apt-get could not install them"
}

# An interpreter that can build extension modules: recent enough, with venv and with its header files.
usable_python() {
  "$1" - 2>/dev/null <<'CHECK'
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
sys.exit(not (sys.version_info >= (3, 10) and os.path.exists(header)))
CHECK
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10}; do
    if command -v "$candidate" >/dev/null && usable_python "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  fail "no usable Python: 3.10 or later with its venv module and header files is needed (python3-venv python3-dev)"
}

create_venv() {
  local stamp=.venv/.setup-stamp wanted python
  wanted=$(sha256sum scripts/setup.sh scripts/requirements*.txt)
  # Who has all has what the demo needs.
  if [[ -x .venv/bin/python && -e $stamp ]]; then
    [[ $(<"$stamp") != "all $wanted" && $(<"$stamp") != "$purpose $wanted" ]] || return 0
  fi
  if [[ ! -x .venv/bin/python ]]; then
    python=$(find_python)
    echo "setup: making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
  fi
  echo "setup: installing Python packages into .venv"
  # Python compiles what the demo imports. Tests start hundreds of processes, and Python keeps nothing where
  # PYTHONDONTWRITEBYTECODE is set; compileall uses all cores, and pip only one.
  .venv/bin/python -m pip install --no-compile --disable-pip-version-check --requirement "$requirements" |
    { grep --line-buffered -E '^(Downloading|Installing|Successfully)' || true; } ||
    fail "pip could not install what $requirements lists"
  [[ $purpose == demo ]] || .venv/bin/python -m compileall -qq -j 0 .venv/lib || true
  echo "$purpose $wanted" > "$stamp"
}

install_packages
create_venv
