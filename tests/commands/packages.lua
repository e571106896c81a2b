-- packages.lua - .ci/deps on a machine that has nothing of a group: it names
-- each package, and installs none without apt-get; and the packages that make
-- builds of clshell: their files, and a product in a folder of its own. With
-- CLSHELL_PACKAGES, as `make check-packages` sets it, also what takes longer
-- or needs a network: a bare system, Intel's driver from Python's index.
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

-- What .ci/deps says of a group, and its exit code: with the commands of
-- a bare system alone.
local function missing(group)
  local out, _, code = scratch.sh(([[mkdir -p bin; rm -f bin/*
    for f in sh cat tr sed grep head uname; do
      ln -s "$(command -v $f)" bin/$f; done
    env -i PATH="$PWD/bin" OCL_ICD_VENDORS=/none sh %s/.ci/deps %s 2>&1]])
    :format(t.here, group))
  return out, code
end

t.test("each package of each group is named", function()
  local names = {run = {"gcc", "liblua5.4-dev"},
    check = {"clang", "lua5.4", "tmux"}, lint = {"lua-check", "codespell"},
    simulate = {"oclgrind"}}
  for group, packages in pairs(names) do
    local out, code = missing(group)
    t.eq(code, 2, out)
    for _, name in ipairs(packages) do
      t.ok(out:find("apt%-get install[^\n]* " .. name:gsub("%p", "%%%0")),
        group .. ": " .. name .. ": " .. out)
    end
  end
end)

local LONG = "make check-packages runs it"
-- What makes root an ordinary user.
local BECOME = t.capture "id -u" ~= "0\n" and ""
  or "setpriv --reuid=65534 --regid=65534 --clear-groups"

-- Builds a package of the program as it is; gives the path of the package.
local function make(kind)
  t.skip_if(t.build:find("asan", 1, true),
    "a package is not built for a sanitizer")
  t.skip_if(not os.execute "command -v dpkg-shlibdeps >/dev/null",
    "dpkg-dev is not installed")
  local out, err, code = scratch.sh(("make -s -C %s BUILD=%s %s BUILT=true "
    .. "DEPS=true"):format(t.here, t.build, kind))
  t.eq(code, 0, out .. err)
  return t.here .. "/" .. out:match "([^\n]+)\n$"
end

-- A command of an ordinary user, in a folder of their own, without variables.
local function as_user(command)
  return scratch.sh(([[[ -d user ] || mkdir user
    [ -z "%s" ] || { chmod 755 .; chown 65534:65534 user; }
    cd user; %s env -i PATH=/usr/bin:/bin HOME="$PWD" sh -c '%s' 2>&1]])
    :format(BECOME, BECOME, command))
end

-- Fails unless a program multiplies a matrix by itself, as float64 does.
local function multiplies(clshell, options)
  scratch.create("product.lua", [[
    local n, worst = 48, 0
    local A = matrix.random(n)
    local a, c = A:read(), gemm(A, A, {kernel = "tiled"}):read()
    for i = 0, n * n - 1 do
      local sum = 0
      for k = 0, n - 1 do
        sum = sum + a[i // n * n + k + 1] * a[k * n + i % n + 1]
      end
      worst = math.max(worst, math.abs(sum - c[i + 1]))
    end
    print(worst < 1e-4)]])
  t.eq(as_user(clshell .. (options or "") .. " - <../product.lua"), "true\n")
end

t.test("a .deb has the files of make install, and Debian's own", function()
  local deb = make "deb"
  local list = t.capture("dpkg-deb -c " .. deb)
  scratch.has(list, " ./usr/bin/clshell\n", "/share/clshell/api.lua\n",
    "/share/clshell/kernels/gemm/tiled.cl\n", "/man/man1/clshell.1.gz\n",
    "/doc/clshell/copyright\n", "/doc/clshell/changelog.gz\n")
  local control = t.capture("dpkg-deb -f " .. deb)
  scratch.has(control, "Depends: libc6 (>= ", "lua-argparse",
    "Recommends: pocl-opencl-icd", "oclgrind", "Version: " .. cl.version)
  local out, _, code = scratch.sh("dpkg-deb -x " .. deb .. [[ unpacked
    CLSHELL_HOME= unpacked/usr/bin/clshell -p cl.home]])
  t.eq(code, 0, out)
  t.ok(out:find "/unpacked/usr/share/clshell\n$", out)
end)

t.test("lintian finds no error in the .deb", function()
  if not os.getenv "CLSHELL_PACKAGES" then
    t.skip(LONG)
  elseif not os.execute "command -v lintian >/dev/null" then
    t.skip "lintian is not installed"
  end
  local told, _, failed = scratch.sh("lintian --allow-root " .. make "deb")
  t.eq(failed, 0, told)
end)

t.test("the tarball runs in any folder, with its own libraries", function()
  local tarball = make "dist"
  scratch.sh("install -m 644 " .. tarball .. " .")
  local out = as_user "tar xf ../*.gz; ldd */bin/clshell; ls */bin/clshell"
  for library, path in out:gmatch "(lib[^\n ]+) => (%S+)" do
    t.ok(path:find("/user/clshell-", 1, true)
      or library:find "^lib[cm]%.so", library .. " => " .. path)
  end
  local clshell = out:match "([^\n]+)\n$"
  multiplies(clshell)
  scratch.has(as_user(clshell .. " --manual man"), ".Dt CLSHELL 1")
  -- argparse, and the store through DBI
  out = as_user(clshell .. " bench_gemm.lua --help")
  scratch.has(out, "Usage:")
  t.eq(as_user(clshell .. " -p \"require(\\\"clshell.base.search\\\")"
    .. ".library(\\\"dbd.sqlite3\\\") ~= nil\""), "true\n")
end)

-- The environment of Python into which an ordinary user installs the wheel.
local function environment(extra)
  local wheel = make "wheel"
  local _, _, code = scratch.sh "/usr/bin/python3 -m ensurepip --version"
  t.skip_if(code ~= 0, "Debian's python3-venv is not installed")
  scratch.sh("install -m 644 " .. wheel .. " .")
  local out
  out, _, code = as_user(("python3 -m venv env && env/bin/pip -q install "
    .. "--no-cache-dir --disable-pip-version-check %s %s%s")
    :format(extra and "" or "--no-index", "../" .. wheel:match "[^/]+$",
    extra or ""))
  return "env/bin/clshell", code, out
end

t.test("pip installs the wheel without a network; it multiplies", function()
  t.skip_if(not os.getenv "CLSHELL_PACKAGES", LONG)
  local clshell, code, out = environment()
  t.eq(code, 0, out)
  multiplies(clshell)
  scratch.has(as_user(clshell .. " --version"), cl.version)
  scratch.has(as_user "ls env/share/man/man1", "clshell.1")
  t.eq(as_user "env/bin/pip -q uninstall -y clshell; find env -name *clshell*",
    "")
end)

t.test("extra [cpu] brings a device, beside the system's", function()
  t.skip_if(not os.getenv "CLSHELL_PACKAGES", LONG)
  local clshell, code, out = environment "[cpu]"
  if code ~= 0 then
    t.skip("pip could not install Intel's driver: " .. out:match "[^\n]*\n$")
  end
  multiplies(clshell, [[ -d "Intel(R) OpenCL"]])
  t.eq(tonumber((as_user(clshell .. " -p \"#cl.devices()\""))),
    tonumber((scratch.sh "$clshell -p '#cl.devices()'")) + 1)
end)

-- Bare systems: the arguments of debootstrap, and the sources of apt. Debian
-- has no key of Ubuntu's; apt inside has it, and checks what it installs.
local SYSTEMS = {Debian = {[[
    mirror=$(sed -n 's/^URIs: *//p; s/^deb [^h]*\(http[^ ]*\) .*/\1/p' \
      /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | sed 1q)
    . /etc/os-release
    set -- --include=ca-certificates "$VERSION_CODENAME" root "$mirror"]], [[
    rm -f root/etc/apt/sources.list
    cp -r /etc/apt/sources.list* /etc/apt/auth.conf* /etc/apt/trusted.gpg.d \
      root/etc/apt 2>/dev/null]]},
  ["Ubuntu 24.04"] = {[[
    set -- --no-check-gpg --components=main,universe noble root \
      http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/gutsy]],
    ""}}

for name, system in pairs(SYSTEMS) do
  t.test("the .deb is installed and removed on a bare " .. name, function()
    t.skip_if(not os.getenv "CLSHELL_PACKAGES", LONG)
    local _, _, lacks = scratch.sh
      "test $(id -u) = 0 && PATH=$PATH:/usr/sbin command -v debootstrap"
    t.skip_if(lacks ~= 0,
      "only root can make a bare system, and with debootstrap")
    local deb = make "deb"
    local _, _, code = scratch.sh(system[1] .. [[

      PATH=$PATH:/usr/sbin debootstrap --variant=minbase "$@" >log 2>&1]])
    if code ~= 0 then
      t.skip("debootstrap failed: " .. scratch.read "log":match "[^\n]*\n$")
    end
    local out
    out, _, code = scratch.sh([[exec 2>&1
      trap 'umount root/proc root/dev root/sys &&
        rm -rf --one-file-system root' EXIT
]] .. system[2] .. [[

      cp -r /etc/apt/apt.conf.d root/etc/apt
      cp /etc/resolv.conf root/etc
      for d in proc dev sys; do mount --bind /$d root/$d || exit 1; done
      cp ]] .. deb .. [[ root/tmp
      chroot root sh -ec 'export DEBIAN_FRONTEND=noninteractive HOME=/root
        apt-get -qq update
        apt-get -qq install -y /tmp/*.deb >/tmp/log 2>&1 ||
          { tail /tmp/log; exit 1; }
        clshell -p "gemm(matrix.random(8), matrix.random(8)):sum() ~= 0"
        clshell --doctor
        apt-get -qq remove -y clshell >/tmp/log 2>&1
        echo these are left:
        find / -xdev -path "*clshell*" ! -path "/root/*" ! -path "/tmp/*" \
          ! -path "/var/*"']])
    t.eq(code, 0, out)
    t.eq(out:match "^[^\n]*", "true", out)
    t.ok(out:find "\nthese are left:\n$", out)
  end)
end

scratch.done()
