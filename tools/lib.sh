# Shared by the scripts beside it, which source it: messages, logs, packages, presets, builds.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
me=tools/$(basename "$0")

say() { printf '%s\n' "$*" >&2; }
warn() { say "$me: $*"; }
die() {
  warn "$1"
  exit "${2:-1}"
}

# logged LOG COMMAND...: runs quietly; when the command fails, shows the end of what it wrote.
logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  printf '\n$ %s\n' "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null && return
  local status=$?
  say "failed: $*"
  tail -n 30 "$log" | sed 's/^/  /' >&2
  say "(all of it: $log)"
  return "$status"
}

# --- packages -------------------------------------------------------------------------------------

# missing_packages NAME...: prints those that are not installed.
missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || true
  for name in "$@"; do
    grep -qxF "installed $name" <<<"$installed" || printf '%s\n' "$name"
  done
}

apt_get() {
  local -a as_root=()
  ((EUID == 0)) || as_root=(sudo)
  logged "$root/build/setup.log" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"
}

# need_packages NAME...: installs those that are missing, or says how to; elsewhere than on Debian
# and its relatives, leaves it to CMake to say what is missing.
need_packages() {
  command -v dpkg-query >/dev/null || return 0
  local -a missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    warn "missing packages: ${missing[*]}"
    die "as root: apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  apt_get update
  apt_get install --no-install-recommends "${missing[@]}"
}

# To build and run; to build the tests too, three times as much; what a picture of inputs/ is made
# with; what else the tests and the other tools use.
build_packages=(g++ cmake ninja-build ccache git libhdf5-dev libyaml-cpp-dev libcli11-dev libfmt-dev
  nlohmann-json3-dev libopenblas0 libopenmpi-dev openmpi-bin)
test_packages=(libvtk9-dev libgtest-dev)
phantom_packages=(python3-numpy python3-h5py)
# shellcheck disable=SC2034  # read by the scripts beside this one
all_packages=("${build_packages[@]}" "${test_packages[@]}" "${phantom_packages[@]}"
  python3-matplotlib python3-yaml hdf5-tools)
# shellcheck disable=SC2034  # as above
paraview_packages=(paraview xvfb python3-venv)

# --- presets and builds ---------------------------------------------------------------------------

# find_nvcc: prints the path of a CUDA compiler that the project can use, if there is one.
find_nvcc() {
  local nvcc
  for nvcc in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    [[ -n $nvcc && -x $nvcc ]] || continue
    [[ $("$nvcc" --version 2>/dev/null) =~ release\ ([0-9]+) ]] || continue
    ((BASH_REMATCH[1] >= 13)) || continue
    printf '%s\n' "$nvcc"
    return
  done
}

# gpu_architectures: prints what CMake calls the GPUs of this machine, as 86-real;90a-real; nothing
# where there is none that CUDA 13 knows.
gpu_architectures() {
  local capability
  local -a found=()
  while read -r capability; do
    [[ $capability =~ ^([0-9]+)\.([0-9])$ ]] || continue
    capability=${capability/./}
    ((capability >= 75)) || continue
    ((capability != 90)) || capability=90a # Hopper's own instructions need the suffix
    found+=("$capability-real")
  done < <(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u)
  (IFS=';' && printf '%s' "${found[*]}")
}

# choose_preset [NAME]: prints NAME, or $GRIDSTRIDE_PRESET, or what this machine can build.
choose_preset() {
  local preset=${1:-${GRIDSTRIDE_PRESET:-}}
  if [[ -z $preset ]]; then
    preset=cpu
    [[ -z $(find_nvcc) ]] || preset=cuda
  fi
  grep -q "\"name\": \"$preset\"" "$root/CMakePresets.json" ||
    die "no preset '$preset' in CMakePresets.json" 2
  printf '%s\n' "$preset"
}

# What `cuda` and `cuda-debug` have code for; tools that build for this machine say otherwise.
architectures=90a-real

# Whether builds have the tests, whose packages must be there then.
tests=ON

# build_without_tests: where packages of theirs are missing.
build_without_tests() {
  command -v dpkg-query >/dev/null || return 0
  [[ -z $(missing_packages "${test_packages[@]}") ]] || tests=OFF
}

# is_configured PRESET: whether build/PRESET is set up for this checkout, these presets and these
# architectures, with the tests if they are wanted.
is_configured() {
  local dir=$root/build/$1
  [[ $dir/build.ninja -nt $root/CMakePresets.json ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt" &&
    { [[ $tests == OFF ]] || ! grep -q '^BUILD_TESTING:.*=OFF$' "$dir/CMakeCache.txt"; } &&
    { [[ $1 != cuda* ]] ||
      grep -qx "CMAKE_CUDA_ARCHITECTURES:[A-Z]*=$architectures" "$dir/CMakeCache.txt"; }
}

# configure PRESET: unless that is done.
configure() {
  local preset=$1 nvcc note=
  ! is_configured "$preset" || return 0
  local -a options=("-DBUILD_TESTING=$tests")
  nvcc=$(find_nvcc)
  if [[ $preset == cpu* ]]; then
    [[ -n $nvcc ]] || note=" (for the host only: no CUDA toolkit found)"
  else
    [[ -n $nvcc ]] || die "preset '$preset' needs a CUDA toolkit, 13 or later: nvcc is neither on \
PATH nor in /usr/local/cuda/bin" 2
    options+=("-DCMAKE_CUDA_COMPILER=$nvcc")
    if [[ $preset == cuda* ]]; then
      options+=("-DCMAKE_CUDA_ARCHITECTURES=$architectures")
      note=" (GPU code for $architectures)"
    fi
  fi
  say "configuring build/$preset$note"
  (
    cd "$root" || exit
    logged "$root/build/configure.log" cmake --preset "$preset" --fresh "${options[@]}"
  )
}

# build_for_this_machine: what is built from now on has code for the GPUs that are here, if any.
build_for_this_machine() {
  local here
  here=$(gpu_architectures)
  architectures=${here:-$architectures}
}

# show_progress PRESET: reads Ninja's output; one moving line on a terminal, else a line a minute.
show_progress() {
  local line next=0 shown=
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    if [[ -t 2 ]]; then
      printf '\r\033[Kbuilding build/%s: %s of %s' "$1" "${BASH_REMATCH[@]:1:2}" >&2
      shown=yes
    elif ((SECONDS >= next)); then
      say "building build/$1: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
      next=$((SECONDS + 60))
    fi
  done
  [[ -z $shown ]] || printf '\r\033[K' >&2
}

# build PRESET [TARGET...]: configures and builds; quiet when there is nothing to do.
build() {
  local preset=$1 log=$root/build/build.log
  shift
  mkdir -p "$root/build"
  (
    flock 9
    configure "$preset"
    local -a options=()
    [[ -n ${CMAKE_BUILD_PARALLEL_LEVEL:-} ]] || options+=(--parallel "$(nproc)")
    (($# == 0)) || options+=(--target "$@")
    if ! NINJA_STATUS='[%f/%t] ' cmake --build "$root/build/$preset" "${options[@]}" 9>&- 2>&1 |
      tee "$log" | show_progress "$preset"; then
      sed -n '/^FAILED:\|rror:/,$p' "$log" | head -n 60 >&2
      die "the build failed (all of it: $log)"
    fi
  ) 9>"$root/build/$preset.lock"
}

# git_commit: prints the commit of this checkout, marked when the work tree differs from it.
git_commit() {
  git -C "$root" describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown
}

# --- data -----------------------------------------------------------------------------------------

# make_phantom: the picture that inputs/phantom_denoise.yaml starts from, unless it is there.
make_phantom() {
  local file=$root/inputs/data/phantom.h5
  [[ ! -e $file ]] || return 0
  need_packages "${phantom_packages[@]}"
  mkdir -p "$(dirname "$file")"
  logged "$root/build/setup.log" /usr/bin/python3 "$root/tools/make_phantom.py" --output "$file"
}

# make_named_phantom CONFIG: when CONFIG reads that picture.
make_named_phantom() {
  local folder
  folder=$(cd "$(dirname "$1")" && pwd -P)
  if [[ $folder == "$root/inputs" ]] && grep -q 'file:.*data/phantom\.h5' "$1"; then
    make_phantom
  fi
}
