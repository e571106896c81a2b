// finds: nothing
// range: 8 / 8
// args: float 8
typedef struct { char tag; float value; } Pair;
kernel void f(global float *x) {
  int i = get_global_id(0);
  Pair p;
  p.tag = i;
  p.value = x[i];
  Pair q = p;
  x[i] = q.value + q.tag;
}
