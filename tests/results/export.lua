-- export.lua - the formats of results, each against its golden text
-- SPDX-License-Identifier: MIT

local t = require "t"
local export = require "clshell.results.export"
local json = require "clshell.base.json"
local records = require "records"
local results = require "clshell.results.result_list"
local style = require "clshell.base.style"

local GOLDEN = {}

GOLDEN.csv = {
  "name,family,kernel,config,type,status,shape.k,shape"
    .. ".m,shape.n,param.map,cache_mode,timer,time_s,time_l"
    .. "o_s,time_hi_s,time_min_s,time_q1_s,time_q3_s,time_m"
    .. "ax_s,n,work_FLOP,traffic_B,throughput_FLOPS,ba"
    .. "ndwidth_B_per_s,intensity_FLOP_per_B,verified,error"
    .. ",flags,note,device,platform,driver,opencl_version,b"
    .. "uild_options,source_hash,date,protocol,clshell_vers"
    .. "ion\r",
  "gemm.naive,gemm,naive,map=row,float,ok,1024,1024,10"
    .. "24,row,hot,event,0.5,0.4990234375,0.5009765625,0.37"
    .. "5,0.4990234375,0.5009765625,0.75,3,2147483648,12582"
    .. "912,4294967296,25165824,170.66666666666666,true,,,,"
    .. "\"Card \"\"X\"\" <2>\",Some|CL,1.2,OpenCL 3.0,'-cl-mad-ena"
    .. "ble,00ff,2026-01-02T03:04:05Z,1,0.1.0\r",
  "gemm.tiled_constant,gemm,tiled_constant,,float,refu"
    .. "sed,1024,1024,1024,,hot,,,,,,,,,,,,,,,false,,error="
    .. "nan,\"refused: A has 4194304 bytes, constant memory "
    .. "65536\",\"Card \"\"X\"\" <2>\",Some|CL,1.2,OpenCL 3.0,,,20"
    .. "26-01-02T03:04:05Z,1,0.1.0\r",
}

GOLDEN.json = [[
{
  "format":"clshell results",
  "format_version":1,
  "meta":{
    "device":"Card \"X\" <2>",
    "platform":"Some|CL",
    "driver":"1.2",
    "opencl_version":"OpenCL 3.0",
    "build_options":"-cl-mad-enable",
    "source_hash":"00ff",
    "date":"2026-01-02T03:04:05Z",
    "clshell_version":"0.1.0"
  },
  "results":[{
      "name":"gemm.naive",
      "family":"gemm",
      "kernel":"naive",
      "config":"map=row",
      "type":"float",
      "status":"ok",
      "shape":{
        "k":1024,
        "m":1024,
        "n":1024
      },
      "params":{
        "map":"row"
      },
      "cache_mode":"hot",
      "timer":"event",
      "time_s":0.5,
      "time_lo_s":0.4990234375,
      "time_hi_s":0.5009765625,
      "time_min_s":0.375,
      "time_q1_s":0.4990234375,
      "time_q3_s":0.5009765625,
      "time_max_s":0.75,
      "n":3,
      "work_FLOP":2147483648,
      "traffic_B":12582912,
      "throughput_FLOPS":4294967296,
      "bandwidth_B_per_s":25165824,
      "intensity_FLOP_per_B":170.66666666666666,
      "verified":true,
      "flags":[],
      "device":"Card \"X\" <2>",
      "platform":"Some|CL",
      "driver":"1.2",
      "opencl_version":"OpenCL 3.0",
      "build_options":"-cl-mad-enable",
      "source_hash":"00ff",
      "date":"2026-01-02T03:04:05Z",
      "protocol":1,
      "clshell_version":"0.1.0",
      "samples_s":[0.375, 0.5, 0.75]
    },{
      "name":"gemm.tiled_constant",
      "family":"gemm",
      "kernel":"tiled_constant",
      "type":"float",
      "status":"refused",
      "shape":{
        "k":1024,
        "m":1024,
        "n":1024
      },
      "cache_mode":"hot",
      "verified":false,
      "error":null,
      "flags":["error=nan"],
      "note":"refused: A has 4194304 bytes, constant memory 65536",
      "device":"Card \"X\" <2>",
      "platform":"Some|CL",
      "driver":"1.2",
      "opencl_version":"OpenCL 3.0",
      "date":"2026-01-02T03:04:05Z",
      "protocol":1,
      "clshell_version":"0.1.0"
    }]
}
]]

GOLDEN.md = {
  "| kernel | parameters | type | cache | shape | time ms | "
    .. (style.utf8() and "±%" or "+-%") .. " | n | GFLOPS | GB/s | error | "
    .. "flags | note |",
  "| :--- | :--- | :--- | :--- | :--- | ---: | ---: | "
    .. "---: | ---: | ---: | ---: | :--- | :--- |",
  "| gemm.naive | map=row | float | hot | 1024x1024x1024 float | 500.0 | 0.2 "
    .. "| 3 | 4.295 | 0.02517 |  |  |  |",
  "| gemm.tiled\\_constant |  | float | hot | 1024x1024x1024 float |  |  |  "
    .. "|  |  |  | error=nan | refused: A has 4194304 bytes, constant memory "
    .. "65536 |",
  "",
  "- device: Card \"X\" \\<2>",
  "- platform: Some\\|CL",
  "- driver: 1.2",
  "- opencl_version: OpenCL 3.0",
  "- build_options: -cl-mad-enable",
  "- source_hash: 00ff",
  "- date: 2026-01-02T03:04:05Z",
  "- clshell_version: 0.1.0",
}

-- A result, and one that was refused, with an error that is no number.
local function two()
  local list = {records.ladder()[1], records.ladder()[3]}
  list[2].err = 0 / 0
  return list
end

local function golden(format)
  local text = GOLDEN[format]
  return type(text) == "table" and table.concat(text, "\n") .. "\n" or text
end

for _, format in ipairs(export.formats) do
  t.test(format .. " is as its golden text", function()
    local got = export.text(two(), format)
    for line, expected in (got .. "\n"):gmatch("([^\n]*)\n()") do
      t.ok(golden(format):find(line, 1, true), line .. " at " .. expected)
    end
    t.eq(got, golden(format))
  end)
end

t.test("numbers come back with every bit", function()
  local r = records.result("naive", 1 / 3, {flop = math.maxinteger,
    samples = {0.1, 5e-324, 1.7976931348623157e308, -0.0, 1 / 3, 0 / 0}})
  local back = json.decode(export.text(r, "json")).results[1]
  t.eq(back.time_s, 1 / 3)
  t.eq(back.work_FLOP, math.maxinteger)
  for i = 1, 5 do
    t.eq(back.samples_s[i], r.samples[i])
  end
  t.eq(back.samples_s[6], nil)
  t.ok(export.text(r, "csv"):find(",0.3333333333333333,", 1, true))
end)

t.test("what is not finite is null, and a flag says what it was", function()
  local r = records.result("naive", 0.5, {err = math.huge, roof = -math.huge,
    flags = {"clock!"}})
  local back = json.decode(export.text(r, "json")).results[1]
  t.eq({back.error, back.roof_fraction}, {nil, nil})
  t.ok(not export.text(r, "json"):find("1e999"))
  t.eq({table.unpack(back.flags)}, {"clock!", "roof_fraction=-inf",
    "error=inf"})
  t.eq(r.flags, {"clock!"})
  t.ok(not export.text(r, "csv"):find(",inf,"))
end)

t.test("hostile text stays text", function()
  local name = 'a,"b"\r\n|</script>\0\255é'
  local r = records.result("x", 0.5, {name = name})
  local back = json.decode(export.text(r, "json")).results[1]
  t.eq(back.name, 'a,"b"\r\n|</script>\0\u{FFFD}é')
  t.ok(utf8.len(export.text(r, "json")))
  t.ok(export.text(r, "csv"):find('"a,""b""\r\n|</script>', 1, true))
  t.ok(export.text(r, "md"):find('| a,"b" \\|\\</script>', 1, true))
  r.name = "[x](http://y.z) ![i](www.a.b) ~~c~~ &lt;"
  t.ok(export.text(r, "md"):find("| \\[x\\](http\\://y.z) !\\[i\\](www\\.a.b) "
    .. "\\~\\~c\\~\\~ \\&lt; |", 1, true), export.text(r, "md"))
end)

t.test("results of several devices share no device", function()
  local list = two()
  list[2].device = {name = "Other", driver = "1.2"}
  local md = export.text(list, "md")
  t.ok(md:find("- device: several\n- platform: Some", 1, true))
  t.ok(md:find("- driver: 1.2", 1, true))
end)

t.test("a date that is a number does not stop an export", function()
  local list = two()
  list[1].time = 20260101
  t.ok(export.text(list, "md"):find("- date: 2026-01-02T03:04:05Z", 1, true))
end)

t.test("to a file, or a clear error", function()
  local path = t.tmp("results.csv")
  export.write(two(), "csv", path)
  local file = assert(io.open(path, "rb"))
  t.eq(file:read("a"), golden("csv"))
  file:close()
  t.raises(function() export.write(two(), "csv", "/nonexistent/x.csv") end,
    "cannot write the results", "/nonexistent/x.csv")
  t.raises(function() export.text(two(), "jsn") end, "did you mean 'json'")
  t.raises(function() export.text(5, "csv") end, "list of results", "number")
  if io.open("/dev/full", "w") then
    t.raises(function() export.write(two(), "csv", "/dev/full") end,
      "No space")
  end
end)

t.test("text of CSV that a spreadsheet would run is marked as text",
  function()
    for text, cell in pairs{["=1+1"] = "'=1+1", ["+x"] = "'+x",
      ["-cl-mad-enable"] = "'-cl-mad-enable", ["@SUM(A1)"] = "'@SUM(A1)",
      ["\t=1"] = "'\t=1", ["-1.5"] = "-1.5", ["+7"] = "+7",
      ["a=1"] = "a=1", ['=a","b'] = "\"'=a\"\",\"\"b\""} do
      t.eq(export.rows({{v = text}}, "csv"), ("v\r\n%s\r\n"):format(cell))
    end
    t.eq(export.rows({{v = -1.5, ["=x"] = -2}}, "csv"), "'=x,v\r\n-2,-1.5\r\n")
    t.eq(export.rows({{v = "=1"}}, "md"), "| v |\n| --- |\n| =1 |\n")
  end)

t.test("garbage in place of results says what is wrong", function()
  local plot = require "clshell.plot"
  for fault, list in pairs{["result 1 must be a table; got a number"] = {1},
    ["result 2 must be a table; got a string"] = {{}, "x"},
    ["result 1: median must be a number; got a string"] =
      {{name = "a", median = "x"}},
    ["result 1: flags must be a table; got a string"] =
      {{name = "a", flags = "x"}},
    ["result 1: device[name] must be a string; got a table"] =
      {{name = "a", device = {name = {}}}}} do
    for _, f in ipairs{results, plot.bar, plot.ladder, export.text} do
      t.raises(function() f(list, "csv") end, fault)
    end
  end
  t.raises(function() results(3) end, "results: ", "list of results")
  local list = results{}
  list[1] = 5
  t.raises(function() list:table() end, "result 1 must be a table")
  local report = require "clshell.report"
  t.raises(function() report.format({1}, {"name"}) end,
    "report.format: row 1 must be a table; got a number")
  t.raises(function() report.format({}, "name") end, "columns must be a list")
  t.raises(function() report.format({{}}, {{}}) end, "a column must be a name")
  t.raises(function() report.format({{}}, {"nme"}) end, "got nme")
  t.eq(report.format({{a = 1}}, {{key = function(r) return r.a end}}), "1")
end)

t.test("no results are an empty table", function()
  t.eq(#json.decode(export.text({}, "json")).results, 0)
  t.ok(export.text({}, "json"):find('"results":[]', 1, true))
  t.ok(export.text({}, "csv"):find("^\r?\n"))
end)

t.test("a list of results exports and shows itself", function()
  local list = results(records.ladder())
  t.eq(list:csv(), export.text(records.ladder(), "csv"))
  local path = t.tmp("list.md")
  list:md(path)
  local file = assert(io.open(path, "rb"))
  t.eq(file:read("a"), list:md())
  file:close()
  t.eq((list:table{width = 72}:gsub("±", "+-")), [[
1024x1024x1024 float, hot cache
  kernel               time ms   +-%  GFLOPS     GB/s  % roof  error
  gemm.naive            500.0   0.2   4.295  0.02517
    map=row
  gemm.tiled            125.0   0.2  17.18   0.1007    25.00
    tile=16 edge=guard
  gemm.tiled_constant
    refused: A has 4194304 bytes, constant memory 65536
* gemm.register          31.25  0.2  68.72   0.4027           1e-06
    bm=64; unconverged]])
  t.ok(list:ladder():text{ascii = true}:find("* register", 1, true))
  t.ok(tostring(list):find("time ms", 1, true))
end)

t.test("JSON of others: a byte order mark, the sign of -0", function()
  local list = json.decode "\xef\xbb\xbf[-0, 0, -1]"
  t.eq({1 / list[1], 1 / list[2], list[3]}, {-1 / 0, 1 / 0, -1})
end)

t.done()
