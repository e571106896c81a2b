// finds: nothing
// range: 8 / 8
// args: int 8
typedef struct { char a; int b; long c; } Wide;
Wide make(int v) {
  Wide w;
  w.a = v;
  w.b = v + 1;
  w.c = v + 2;
  return w;
}
int sum(Wide w) { return w.a + w.b + (int)w.c; }
kernel void f(global int *x) {
  int i = get_global_id(0);
  Wide w[2];
  w[0] = make(x[i]);
  w[1] = w[0];
  x[i] = sum(w[i & 1]);
}
