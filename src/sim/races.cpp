// races.cpp - a plugin of the simulator Oclgrind: data races, in place of the
// simulator's own search, and the bytes that a launch reads and writes.
//
// Two accesses to a byte race where one of them writes, they are not both
// atomic, and nothing orders them. Accesses of a work-group are ordered by
// barriers with the fence of the memory; accesses of two groups by an atomic:
// what a work-item has written before a fence is seen by work-items that use
// the result of a later atomic on the address of its next one. The read of a
// loop with atomic_cmpxchg, which the loop tests, counts as atomic. Writes of
// one value do not race.
//
// $CLSHELL_RACES: "used" adds lines on the bytes read and written to the log,
// and on accesses that atomics order; "mirrored": groups are called by their
// numbers from the end.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
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
int LLVMGetNumOperands(Value);
Value LLVMGetOperand(Value, unsigned);
Value LLVMGetFirstUse(Value);
Value LLVMIsACallInst(Value);
const char *LLVMGetValueName2(Value, size_t *);
}

using namespace oclgrind;

namespace {

const uint32_t FENCE_LOCAL = 1, FENCE_GLOBAL = 2;  // of barriers
const size_t RANGES = 4096;  // the most that are told of a memory

struct Access {
  Value at = nullptr, again = nullptr;  // null: an asynchronous copy
  size_t time = 0, last = 0;            // the first, 0: none; and the last
  uint32_t group = 0, item = 0;
  bool store = false, atomic = false;
  uint8_t data = 0;
};

struct Record {
  Access load, store;  // the first ones; a plain one in place of an atomic
};

typedef std::unordered_map<size_t, Record> Records;  // by address

struct Race {
  unsigned space;
  size_t address;
  Access a, b;
};

// What a work-group has released by atomics on an address: the accesses of
// all its work-items before a time, and of single ones.
struct Release {
  size_t all = 0;
  std::map<uint32_t, size_t> items;
};

struct Used {
  std::vector<bool> read, written;  // by byte
  std::vector<Record> records;      // of all groups
};

class Races : public Plugin {
public:
  explicit Races(const Context *context)
      : Plugin(context), tell(getenv("CLSHELL_RACES") == std::string("used")),
        mirrored(getenv("CLSHELL_RACES") == std::string("mirrored")) {
  }

  bool isThreadSafe() const override {
    return false;
  }

  void kernelBegin(const KernelInvocation *invocation) override {
    launch = invocation;
    size = launch->getLocalSize();
    items = uint32_t(size.x * size.y * size.z);
    relied = false;
    used.clear();
    released.clear();
    races.clear();
    known.clear();
  }

  void kernelEnd(const KernelInvocation *) override {
    if (tell)
      for (const auto &entry : used)
        write(entry.first, entry.second);
    if (tell && relied) {
      Context::Message msg(ERROR, m_context);
      msg << "Accesses are ordered by atomics" << std::endl;
      msg.send();
    }
    for (const Race &race : races)
      write(race);
    launch = nullptr;
    used.clear();
  }

  void workGroupBegin(const WorkGroup *group) override {
    number = uint32_t(group->getGroupIndex());
    global.assign(items + 1, Records());
    local.assign(items + 1, Records());
    fenced.assign(items, 0);
    settled.clear();
    acquired.assign(items, {});
    shared.clear();
    all = 0;
  }

  void workGroupBarrier(const WorkGroup *group, uint32_t flags) override {
    if (flags & FENCE_LOCAL)
      merge(group->getLocalMemory(), local);
    if (flags & FENCE_GLOBAL) {
      merge(m_context->getGlobalMemory(), global);
      all = clock;
    }
    for (uint32_t i = 0; i < items; i++) {
      if (fenced[i] > all)
        settled[i] = fenced[i];
      for (const auto &a : acquired[i])
        shared.emplace(a.first, clock);
    }
    clock++;
  }

  void workGroupComplete(const WorkGroup *group) override {
    merge(group->getLocalMemory(), local);
    merge(m_context->getGlobalMemory(), global);
  }

  void instructionExecuted(const WorkItem *item, const llvm::Instruction *i,
                           const TypedValue &) override {
    if (LLVMIsACallInst(i) != nullptr && isfence(i))
      fenced[index(item)] = clock++;
  }

  void memoryLoad(const Memory *memory, const WorkItem *item, size_t address,
                  size_t bytes) override {
    access(memory, item, address, bytes, false, nullptr);
  }

  void memoryLoad(const Memory *memory, const WorkGroup *, size_t address,
                  size_t bytes) override {
    access(memory, nullptr, address, bytes, false, nullptr);
  }

  void memoryStore(const Memory *memory, const WorkItem *item, size_t address,
                   size_t bytes, const uint8_t *data) override {
    access(memory, item, address, bytes, false, data);
  }

  void memoryStore(const Memory *memory, const WorkGroup *, size_t address,
                   size_t bytes, const uint8_t *data) override {
    access(memory, nullptr, address, bytes, false, data);
  }

  void memoryAtomicLoad(const Memory *memory, const WorkItem *item,
                        AtomicOp op, size_t address, size_t bytes) override {
    std::vector<Records> &list = isglobal(memory) ? global : local;
    for (size_t i = 0; op == AtomicCmpXchg && i < bytes; i++) {
      auto found = list[index(item)].find(address + i);
      if (found != list[index(item)].end())
        found->second.load.atomic = true;
    }
    access(memory, item, address, bytes, true, nullptr);
    if (isglobal(memory) && released.count(address) > 0 &&
        LLVMGetFirstUse(item->getCurrentInstruction()) != nullptr)
      acquired[index(item)].emplace(address, clock);
  }

  void memoryAtomicStore(const Memory *memory, const WorkItem *item, AtomicOp,
                         size_t address, size_t bytes) override {
    uint32_t i = index(item);
    access(memory, item, address, bytes, true,
           static_cast<const uint8_t *>(memory->getPointer(address)));
    if (!isglobal(memory) || (all == 0 && fenced[i] == 0 && settled.empty()))
      return;
    Release &r = released[address][number];
    r.all = all;
    for (const auto &s : settled)
      r.items[s.first] = s.second;
    if (fenced[i] > all)
      r.items[i] = fenced[i];
  }

private:
  const bool tell, mirrored;
  bool relied = false;  // whether an atomic orders accesses
  const KernelInvocation *launch = nullptr;
  Size3 size;          // of a work-group
  uint32_t items = 0;  // of a work-group; as an item: its copies
  size_t clock = 1;
  std::map<size_t, Used> used;  // global memories, by number
  std::map<size_t, std::map<uint32_t, Release>> released;  // by address, group
  std::map<Value, bool> fences;
  std::vector<Race> races;
  std::map<std::tuple<Value, Value, uint64_t, uint64_t>, size_t> known;

  // Of the present work-group.
  uint32_t number = 0;
  std::vector<Records> global, local;  // since the last barrier
  std::vector<size_t> fenced;          // the last fence of each item
  std::map<uint32_t, size_t> settled;  // fences before a barrier
  std::vector<std::map<size_t, size_t>> acquired;  // address -> time
  std::map<size_t, size_t> shared;                 // acquired before a barrier
  size_t all = 0;                                  // the last global barrier

  static bool isglobal(const Memory *memory) {
    return memory->getAddressSpace() == AddrSpaceGlobal;
  }

  uint32_t index(const WorkItem *item) const {
    Size3 id = item->getLocalID();
    return uint32_t((id.z * size.y + id.y) * size.x + id.x);
  }

  // Whether a call is mem_fence, write_mem_fence or atomic_work_item_fence.
  bool isfence(Value call) {
    auto found = fences.emplace(call, false);
    if (found.second) {
      size_t length = 0;
      int last = LLVMGetNumOperands(call) - 1;
      const char *name =
          LLVMGetValueName2(LLVMGetOperand(call, unsigned(last)), &length);
      std::string text(name, length);
      found.first->second = text.find("mem_fence") != std::string::npos ||
                            text.find("item_fence") != std::string::npos;
    }
    return found.first->second;
  }

  // Keeps the first access, with the time of its work-item's last one.
  static void insert(Record &r, const Access &a) {
    Access &old = a.store ? r.store : r.load;
    if (a.time > 0 && (old.time == 0 || (old.atomic && !a.atomic))) {
      old = a;
    } else if (a.time > 0 && old.atomic == a.atomic && who(old) == who(a)) {
      old.last = a.last;
      old.again = a.again;
    }
  }

  Used &memoryof(size_t address) {
    const Memory *memory = m_context->getGlobalMemory();
    Used &u = used[memory->extractBuffer(address)];
    if (u.records.empty()) {
      size_t bytes = memory->getBuffer(address)->size;
      u.records.resize(bytes);
      u.read.resize(bytes);
      u.written.resize(bytes);
    }
    return u;
  }

  void access(const Memory *memory, const WorkItem *item, size_t address,
              size_t bytes, bool atomic, const uint8_t *data) {
    unsigned space = memory->getAddressSpace();
    if ((space != AddrSpaceGlobal && space != AddrSpaceLocal) ||
        !memory->isAddressValid(address, bytes))
      return;
    Access a;
    a.time = a.last = clock++;
    a.group = number;
    a.item = item != nullptr ? index(item) : items;
    a.at = a.again = item != nullptr ? item->getCurrentInstruction() : nullptr;
    a.store = data != nullptr;
    a.atomic = atomic;
    Records &list = (space == AddrSpaceGlobal ? global : local)[a.item];
    for (size_t i = 0; i < bytes; i++) {
      a.data = a.store ? data[i] : 0;
      insert(list[address + i], a);
    }
    if (space == AddrSpaceGlobal) {
      Used &u = memoryof(address);
      std::vector<bool> &bits = a.store ? u.written : u.read;
      size_t from = memory->extractOffset(address);
      std::fill(bits.begin() + ptrdiff_t(from),
                bits.begin() + ptrdiff_t(from + bytes), true);
    }
  }

  // Compares the accesses of each work-item with those of others since the
  // last barrier, in global memory also with those of other groups.
  void merge(const Memory *memory, std::vector<Records> &list) {
    unsigned space = memory->getAddressSpace();
    Records before;
    for (Records &own : list) {
      for (const auto &entry : own) {
        const Record &a = entry.second;
        Record &b = before[entry.first];
        compare(space, entry.first, a, b);
        insert(b, a.load);
        insert(b, a.store);
      }
      for (const auto &entry : own) {
        if (space != AddrSpaceGlobal)
          break;
        Record &b =
            memoryof(entry.first).records[memory->extractOffset(entry.first)];
        compare(space, entry.first, entry.second, b, true);
        insert(b, entry.second.load);
        insert(b, entry.second.store);
      }
      own.clear();
    }
  }

  void compare(unsigned space, size_t address, const Record &a,
               const Record &b, bool others = false) {
    const Access *pairs[][2] = {
        {&a.load, &b.store}, {&a.store, &b.load}, {&a.store, &b.store}};
    for (auto &p : pairs) {
      const Access &x = *p[0], &y = *p[1];
      if (x.time > 0 && y.time > 0 && !(x.atomic && y.atomic) &&
          (others ? x.group != y.group : x.item != y.item) &&
          !(x.store && y.store && x.data == y.data)) {
        Access before = x.time < y.time ? x : y;
        const Access &after = x.time < y.time ? y : x;
        if (ordered(before, after, before.last)) {
          relied = true;
          continue;
        } else if (ordered(before, after, before.time)) {
          before.at = before.again;
        }
        add(x.time < y.time ? Race{space, address, before, y}
                            : Race{space, address, x, before});
      }
    }
  }

  // Whether an atomic orders access a, at that time, before access b of the
  // present group.
  bool ordered(const Access &a, const Access &b, size_t time) const {
    return (b.item < items && covers(acquired[b.item], a, time, b.time)) ||
           covers(shared, a, time, b.time);
  }

  bool covers(const std::map<size_t, size_t> &list, const Access &a,
              size_t time, size_t until) const {
    for (const auto &entry : list) {
      const auto &groups = released.at(entry.first);
      auto found = groups.find(a.group);
      if (entry.second > until || found == groups.end())
        continue;
      const Release &r = found->second;
      auto item = r.items.find(a.item);
      if (time <= r.all || (item != r.items.end() && time <= item->second))
        return true;
    }
    return false;
  }

  static uint64_t who(const Access &a) {
    return uint64_t(a.group) << 32 | a.item;
  }

  // Adds a race; of races that differ in the address alone, the lowest stays.
  void add(const Race &race) {
    const Access *a = &race.a, *b = &race.b;
    if (std::make_pair(who(*b), b->at) < std::make_pair(who(*a), a->at))
      std::swap(a, b);
    auto found = known.emplace(std::make_tuple(a->at, b->at, who(*a), who(*b)),
                               races.size());
    if (found.second)
      races.push_back(race);
    else if (race.address < races[found.first->second].address)
      races[found.first->second] = race;
  }

  void write(Context::Message &msg, const Access &a) const {
    Size3 n = launch->getNumGroups(), from = launch->getGlobalOffset();
    Size3 group(a.group, n);
    if (mirrored)
      group = Size3(n.x - 1 - group.x, n.y - 1 - group.y, n.z - 1 - group.z);
    if (a.item < items) {
      Size3 id(a.item, size);
      Size3 all(group.x * size.x + id.x + from.x,
                group.y * size.y + id.y + from.y,
                group.z * size.z + id.z + from.z);
      msg << "Global" << all << " Local" << id << " ";
    }
    msg << "Group" << group << std::endl
        << static_cast<const llvm::Instruction *>(a.at) << std::endl;
  }

  // As the simulator writes its own findings.
  void write(const Race &race) const {
    Context::Message msg(ERROR, m_context);
    msg << (race.a.store && race.b.store ? "Write-write" : "Read-write")
        << " data race at "
        << (race.space == AddrSpaceGlobal ? "global" : "local")
        << " memory address 0x" << std::hex << race.address << std::dec
        << std::endl
        << msg.INDENT << "Kernel: " << msg.CURRENT_KERNEL << std::endl
        << std::endl
        << "First entity:  ";
    write(msg, race.a);
    msg << std::endl << "Second entity: ";
    write(msg, race.b);
    msg.send();
  }

  // " 0-15 32-47": the bytes that are set.
  static std::string ranges(const std::vector<bool> &bits) {
    std::ostringstream text;
    auto at = bits.begin();
    for (size_t n = 0; n < RANGES; n++) {
      at = std::find(at, bits.end(), true);
      if (at == bits.end())
        return text.str();
      text << ' ' << at - bits.begin();
      at = std::find(at, bits.end(), false);
      text << '-' << at - bits.begin() - 1;
    }
    return text.str() + " more";
  }

  void write(size_t memory, const Used &u) const {
    Context::Message msg(ERROR, m_context);
    msg << "Memory " << memory << " read" << ranges(u.read) << " written"
        << ranges(u.written) << std::endl;
    msg.send();
  }
};

}  // namespace

Plugin *clsh_races(const Context *context) {
  return new Races(context);
}
