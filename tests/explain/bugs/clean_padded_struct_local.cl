// finds: nothing
// range: 8 / 8
// args: int 8
typedef struct { char tag; int value; } Pair;
kernel void f(global int *x) {
  local Pair t[8];
  int i = get_local_id(0);
  Pair p;
  p.tag = 1;
  p.value = x[i];
  t[i] = p;
  barrier(CLK_LOCAL_MEM_FENCE);
  Pair q = t[7 - i];
  x[i] = q.value + q.tag;
}
