// trace.cpp - a plugin of the simulator Oclgrind: the memory accesses of a
// launch as warps make them, written to the file $CLSHELL_TRACE.
//
// The simulator runs work-items one after another. Each leaves its path
// through the code and its accesses; at the end of a work-group the paths of
// a warp are walked together: lanes that part at a branch meet again at its
// immediate postdominator, as on a GPU. The accesses of a warp's lanes at a
// time are a request. Equal requests, but for their place, are counted.
//
// The file has the last launch of the process.
//
// $CLSHELL_WARP: lanes of a warp. $CLSHELL_GROUPS: the most work-groups to
// look at; 0: as many as $CLSHELL_BUDGET instructions allow, after the first.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <unordered_set>
#include <vector>

#include <CL/cl.h>

#include <oclgrind/Context.h>
#include <oclgrind/KernelInvocation.h>
#include <oclgrind/Memory.h>
#include <oclgrind/Plugin.h>
#include <oclgrind/WorkGroup.h>
#include <oclgrind/WorkItem.h>

#include "plugins.h"

// Of LLVM's stable C interface, which the simulator brings without headers.
extern "C" {
Value LLVMGetNextInstruction(Value);
Value LLVMGetInstructionParent(Value);
Value LLVMGetBasicBlockParent(Value);
Value LLVMGetBasicBlockTerminator(Value);
Value LLVMGetFirstBasicBlock(Value);
Value LLVMGetNextBasicBlock(Value);
Value LLVMIsATerminatorInst(Value);
unsigned LLVMGetNumSuccessors(Value);
Value LLVMGetSuccessor(Value, unsigned);
const char *LLVMGetDebugLocFilename(Value, unsigned *);
unsigned LLVMGetDebugLocLine(Value);
unsigned LLVMGetDebugLocColumn(Value);
int LLVMGetNumOperands(Value);
Value LLVMGetOperand(Value, unsigned);
Value LLVMIsACallInst(Value);
const char *LLVMGetValueName2(Value, size_t *);
Value LLVMTypeOf(Value);
int LLVMGetTypeKind(Value);
unsigned LLVMGetPointerAddressSpace(Value);
}

using namespace oclgrind;

namespace {

const int POINTER = 12;     // LLVMPointerTypeKind
const size_t PLACE = 1024;  // bytes: a request keeps its address modulo this
const size_t LONGEST = size_t(1) << 24;  // steps and accesses of a work-group

enum Kind { LOAD, STORE, ATOMIC };
const char *const kinds[] = {"load", "store", "atomic"};

// An access in the code, of one size.
struct Site {
  Value instruction;
  Kind kind;
  unsigned space;
  size_t size;
  bool operator<(const Site &other) const {
    return std::tie(instruction, kind, space, size) <
           std::tie(other.instruction, other.kind, other.space, other.size);
  }
};

struct Pattern {
  size_t count = 0, first;  // the first address of its first request
};

struct Record {
  Site site;
  std::map<std::string, Pattern> patterns;
  std::unordered_set<size_t> addresses;  // of the work-group
  size_t asked = 0, distinct = 0;        // elements: all, different in a group
};

struct Branch {
  size_t times = 0, lanes = 0, paths = 0, parted = 0;
};

struct Access {
  uint32_t record;
  size_t address;
};

// A piece of code without branch or call that a work-item has run.
struct Step {
  Value first, last;
  size_t depth;     // of calls
  size_t accesses;  // where the accesses of the step begin
};

struct Lane {
  std::vector<Step> steps;
  std::vector<Access> accesses;
  Value current = nullptr, next = nullptr;
  size_t at = 0;  // the step to walk
};

// Where the lanes of a branch meet again: a block, in a call of that depth;
// no block: at the end of the call.
struct Meeting {
  Value block;
  size_t depth;
};

size_t variable(const char *name, size_t value) {
  const char *text = getenv(name);
  return text != nullptr && *text != '\0' ? strtoull(text, nullptr, 10)
                                          : value;
}

class Trace : public Plugin {
public:
  explicit Trace(const Context *context)
      : Plugin(context), warp(variable("CLSHELL_WARP", 32)),
        most(variable("CLSHELL_GROUPS", 0)),
        budget(variable("CLSHELL_BUDGET", 4000000)) {
  }

  bool isThreadSafe() const override {
    return false;
  }

  void kernelBegin(const KernelInvocation *invocation) override {
    Size3 n = invocation->getNumGroups();
    groups = n.x * n.y * n.z;
    begun = looked = warps = instructions = lost = copied = 0;
    wanted = most;
    records.clear();
    known.clear();
    branches.clear();
  }

  void workGroupBegin(const WorkGroup *group) override {
    size_t index = begun++;
    size = group->getGroupSize();
    skip = !chosen(index);
    if (skip) {
      dismiss(group);
      return;
    }
    looked++;
    lanes.assign(size.x * size.y * size.z, Lane());
    length = 0;
  }

  void workGroupComplete(const WorkGroup *) override {
    if (skip)
      return;
    for (size_t first = 0; first < lanes.size(); first += warp) {
      std::vector<size_t> all;
      for (size_t i = first; i < first + warp && i < lanes.size(); i++)
        if (!lanes[i].steps.empty())
          all.push_back(i);
      warps++;
      walk(all, Meeting{nullptr, 0});
    }
    for (Record &r : records) {
      r.distinct += r.addresses.size();
      r.addresses.clear();
    }
    lanes.clear();
    if (looked == 1 && most == 0)
      wanted = std::max<size_t>(3, budget / (instructions + 1));
  }

  void instructionExecuted(const WorkItem *item, const llvm::Instruction *i,
                           const TypedValue &) override {
    instructions++;
    enter(item, i);
  }

  void memoryLoad(const Memory *memory, const WorkItem *item, size_t address,
                  size_t bytes) override {
    access(memory, item, LOAD, address, bytes);
  }

  void memoryStore(const Memory *memory, const WorkItem *item, size_t address,
                   size_t bytes, const uint8_t *) override {
    access(memory, item, STORE, address, bytes);
  }

  void memoryAtomicLoad(const Memory *memory, const WorkItem *item, AtomicOp,
                        size_t address, size_t bytes) override {
    access(memory, item, ATOMIC, address, bytes);
  }

  void memoryLoad(const Memory *memory, const WorkGroup *, size_t,
                  size_t bytes) override {
    copied += memory->getAddressSpace() == AddrSpaceLocal ? 0 : bytes;
  }

  void memoryStore(const Memory *memory, const WorkGroup *, size_t,
                   size_t bytes, const uint8_t *) override {
    copied += memory->getAddressSpace() == AddrSpaceLocal ? 0 : bytes;
  }

  // Writes a table of Lua. elements: of a vload or vstore, else 1.
  // A request is a list: lane, offset, lane, offset ...
  void kernelEnd(const KernelInvocation *) override {
    FILE *out = fopen(getenv("CLSHELL_TRACE"), "w");
    if (out == nullptr)
      return;
    fprintf(
        out,
        "return {groups=%zu,looked=%zu,warps=%zu,instructions=%zu,lost=%zu,"
        "copied=%zu,localsize={%zu,%zu,%zu},sites={\n",
        groups, looked, warps, instructions, lost, copied, size.x, size.y,
        size.z);
    for (const Record &r : records)
      write(out, r);
    fprintf(out, "},branches={\n");
    for (const auto &b : branches)
      fprintf(out, "{times=%zu,lanes=%zu,paths=%zu,parted=%zu,%s},\n",
              b.second.times, b.second.lanes, b.second.paths, b.second.parted,
              place(b.first).c_str());
    fprintf(out, "}}\n");
    fclose(out);
  }

private:
  const size_t warp, most, budget;
  size_t groups = 0, begun = 0, looked = 0, wanted = 0;  // work-groups
  size_t warps = 0, instructions = 0;
  size_t length = 0, lost = 0;  // accesses of the group, and those left out
  size_t copied = 0;            // bytes, by async_work_group_copy
  bool skip = false;
  Size3 size;
  std::vector<Lane> lanes;
  std::vector<Record> records;
  std::map<Site, uint32_t> known;  // site -> place in records
  std::map<Value, Branch> branches;
  std::map<Value, Value> meetings;  // block -> postdominator
  std::set<Value> functions;        // those in meetings

  // Whether to look at group `index`: the first group, and as many others as
  // are wanted, evenly spread up to the last.
  bool chosen(size_t index) const {
    if (index == 0 || groups <= wanted)
      return true;
    if (wanted < 2)
      return false;
    size_t n = wanted - 1, last = groups - 1;
    return index * n / last != (index - 1) * n / last;
  }

  // Ends the work-items of a group before they begin.
  static void dismiss(const WorkGroup *group) {
    Size3 n = group->getGroupSize();
    for (size_t z = 0; z < n.z; z++)
      for (size_t y = 0; y < n.y; y++)
        for (size_t x = 0; x < n.x; x++)
          const_cast<WorkGroup *>(group)->notifyFinished(
              group->getWorkItem(Size3(x, y, z)));
  }

  Lane &lane(const WorkItem *item) {
    Size3 id = item->getLocalID();
    return lanes[(id.z * size.y + id.y) * size.x + id.x];
  }

  // The work-item is at instruction i: a new step after a branch or a call.
  Lane &enter(const WorkItem *item, Value i) {
    Lane &l = lane(item);
    if (i == l.current)
      return l;
    if (l.steps.empty() || (i != l.next && length < LONGEST)) {
      length++;
      l.steps.push_back(
          Step{i, i, item->getCallStack().size(), l.accesses.size()});
    }
    l.steps.back().last = l.current = i;
    l.next = LLVMGetNextInstruction(i);
    return l;
  }

  // Whether an instruction has a pointer to constant memory, which the
  // simulator keeps in global memory.
  static bool isconstant(Value i) {
    for (int k = 0; k < LLVMGetNumOperands(i); k++) {
      Value type = LLVMTypeOf(LLVMGetOperand(i, unsigned(k)));
      if (LLVMGetTypeKind(type) == POINTER &&
          LLVMGetPointerAddressSpace(type) == AddrSpaceConstant)
        return true;
    }
    return false;
  }

  void access(const Memory *memory, const WorkItem *item, Kind kind,
              size_t address, size_t bytes) {
    unsigned space = memory->getAddressSpace();
    if (space == AddrSpacePrivate || skip)
      return;
    Lane &l = enter(item, item->getCurrentInstruction());
    if (length >= LONGEST) {
      lost++;
      return;
    }
    length++;
    Value i = item->getCurrentInstruction();
    Site site = {i, kind, isconstant(i) ? AddrSpaceConstant : space, bytes};
    auto found = known.emplace(site, uint32_t(records.size()));
    if (found.second) {
      records.emplace_back();
      records.back().site = site;
    }
    Record &r = records[found.first->second];
    r.asked++;
    r.addresses.insert(address);
    l.accesses.push_back(Access{found.first->second, address});
  }

  // Walks lanes, all at one step, up to a meeting.
  void walk(std::vector<size_t> some, Meeting end) {
    for (;;) {
      std::map<Value, std::vector<size_t>> parts;
      Value last = nullptr;
      size_t depth = 0;
      for (size_t i : some) {
        const Lane &l = lanes[i];
        if (l.at < l.steps.size() && !arrived(l.steps[l.at], end))
          parts[l.steps[l.at].first].push_back(i);
      }
      if (parts.empty())
        return;
      if (parts.size() > 1) {  // only at the start of a launch
        for (auto &part : parts)
          walk(part.second, end);
        return;
      }
      some = parts.begin()->second;
      last = lanes[some[0]].steps[lanes[some[0]].at].last;
      depth = lanes[some[0]].steps[lanes[some[0]].at].depth;
      requests(some);
      for (size_t i : some)
        lanes[i].at++;
      if (LLVMIsATerminatorInst(last) != nullptr &&
          LLVMGetNumSuccessors(last) > 1)
        branch(some, last, depth);
    }
  }

  static bool arrived(const Step &s, const Meeting &end) {
    return s.depth < end.depth ||
           (s.depth == end.depth && end.block != nullptr &&
            LLVMGetInstructionParent(s.first) == end.block);
  }

  // Lanes that have run branch `last`: lanes that part walk alone until they
  // meet.
  void branch(const std::vector<size_t> &some, Value last, size_t depth) {
    std::map<Value, std::vector<size_t>> parts;
    for (size_t i : some)
      if (lanes[i].at < lanes[i].steps.size())
        parts[lanes[i].steps[lanes[i].at].first].push_back(i);
    Branch &b = branches[last];
    b.times++;
    b.lanes += some.size();
    b.paths += parts.size();
    b.parted += parts.size() > 1;
    if (parts.size() > 1)
      for (auto &part : parts)
        walk(part.second,
             Meeting{postdominator(LLVMGetInstructionParent(last)), depth});
  }

  // The requests of lanes at one step.
  void requests(const std::vector<size_t> &some) {
    std::vector<size_t> next, stop;
    for (size_t i : some) {
      const Lane &l = lanes[i];
      next.push_back(l.steps[l.at].accesses);
      stop.push_back(l.at + 1 < l.steps.size() ? l.steps[l.at + 1].accesses
                                               : l.accesses.size());
    }
    for (;;) {
      std::vector<size_t> who, where;
      uint32_t record = 0;
      for (size_t k = 0; k < some.size(); k++) {
        if (next[k] == stop[k])
          continue;
        const Access &a = lanes[some[k]].accesses[next[k]];
        if (!who.empty() && a.record != record)
          continue;
        record = a.record;
        who.push_back(some[k] % warp);
        where.push_back(a.address);
        next[k]++;
      }
      if (who.empty())
        return;
      count(records[record], who, where);
    }
  }

  static void count(Record &r, const std::vector<size_t> &who,
                    const std::vector<size_t> &where) {
    size_t least = where[0];
    for (size_t address : where)
      least = std::min(least, address);
    size_t base = least / PLACE * PLACE;
    std::string key;
    for (size_t k = 0; k < who.size(); k++)
      key +=
          " " + std::to_string(who[k]) + ":" + std::to_string(where[k] - base);
    Pattern &p = r.patterns[key];
    if (p.count++ == 0)
      p.first = base;
  }

  // The place of an instruction as fields of Lua.
  static std::string place(Value instruction) {
    unsigned length = 0;
    const char *name = LLVMGetDebugLocFilename(instruction, &length);
    std::string text =
        "line=" + std::to_string(LLVMGetDebugLocLine(instruction)) +
        ",column=" + std::to_string(LLVMGetDebugLocColumn(instruction)) +
        ",file=\"";
    for (unsigned i = 0; name != nullptr && i < length; i++) {
      char code[8];
      snprintf(code, sizeof code, "\\x%02x", uint8_t(name[i]));
      text += code;
    }
    return text + "\"";
  }

  // The elements that an instruction, a call of vload4 and its like, moves:
  // the number at the end of the name, which may be mangled.
  static unsigned elements(Value instruction) {
    if (LLVMIsACallInst(instruction) == nullptr)
      return 1;
    int last = LLVMGetNumOperands(instruction) - 1;
    size_t length = 0;
    const char *text = LLVMGetValueName2(
        LLVMGetOperand(instruction, unsigned(last)), &length);
    std::string name(text, length);
    for (const char *word : {"vload", "vstore"}) {
      size_t at = name.find(word);
      if (at == std::string::npos)
        continue;
      at += strlen(word);
      if (name.compare(at, 5, "_half") == 0)
        at += 5;
      int n = atoi(name.c_str() + at);
      return n > 1 ? unsigned(n) : 1;
    }
    return 1;
  }

  static void write(FILE *out, const Record &r) {
    const Site &s = r.site;
    fprintf(out,
            "{kind=\"%s\",space=%u,size=%zu,elements=%u,asked=%zu,"
            "distinct=%zu,%s,requests={\n",
            kinds[s.kind], s.space, s.size, elements(s.instruction), r.asked,
            r.distinct, place(s.instruction).c_str());
    for (const auto &p : r.patterns) {
      std::string list = p.first;
      for (char &c : list)
        c = c == ' ' || c == ':' ? ',' : c;
      // the upper bits have the number of the buffer
      fprintf(out, "{count=%zu,first=%zu%s},\n", p.second.count,
              p.second.first & 0xffffffffff, list.c_str());
    }
    fprintf(out, "}},\n");
  }

  // The immediate postdominator of a block; null: the function's end.
  Value postdominator(Value block) {
    Value function = LLVMGetBasicBlockParent(block);
    if (functions.insert(function).second)
      postdominators(function);
    return meetings[block];
  }

  // The postdominators of each block: the blocks that lie on all ways from it
  // to the end. The nearest is the block with the most postdominators.
  void postdominators(Value function) {
    std::vector<Value> blocks;
    std::map<Value, size_t> number;
    for (Value b = LLVMGetFirstBasicBlock(function); b != nullptr;
         b = LLVMGetNextBasicBlock(b)) {
      number[b] = blocks.size();
      blocks.push_back(b);
    }
    size_t n = blocks.size();
    std::vector<std::vector<bool>> on(n, std::vector<bool>(n, true));
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = n; i-- > 0;) {
        Value t = LLVMGetBasicBlockTerminator(blocks[i]);
        unsigned ways = LLVMGetNumSuccessors(t);
        std::vector<bool> now(n, ways > 0);
        for (unsigned k = 0; k < ways; k++)
          for (size_t j = 0; j < n; j++)
            now[j] = now[j] && on[number[LLVMGetSuccessor(t, k)]][j];
        now[i] = true;
        changed = changed || now != on[i];
        on[i] = now;
      }
    }
    std::vector<ptrdiff_t> own;
    for (const std::vector<bool> &row : on)
      own.push_back(std::count(row.begin(), row.end(), true));
    for (size_t i = 0; i < n; i++) {
      ptrdiff_t best = 0;
      for (size_t j = 0; j < n; j++)
        if (j != i && on[i][j] && own[j] > best) {
          best = own[j];
          meetings[blocks[i]] = blocks[j];
        }
    }
  }
};

}  // namespace

extern "C" {
static Plugin *plugin;

void initializePlugins(Context *context) {
  if (getenv("CLSHELL_TRACE") != nullptr)
    plugin = new Trace(context);
  else if (getenv("CLSHELL_RACES") != nullptr)
    plugin = clsh_races(context);
  if (plugin != nullptr)
    context->registerPlugin(plugin);
}

void releasePlugins(Context *context) {
  if (plugin == nullptr)
    return;
  context->unregisterPlugin(plugin);
  delete plugin;
  plugin = nullptr;
}
}
