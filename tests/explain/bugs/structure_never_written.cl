// finds: unwritten 9
// range: 4 / 4
// args: int 4
typedef struct { int a, b; } Two;
void fill(Two *t, int v) { t->a = v; }
kernel void f(global int *x) {
  Two t[2];
  fill(&t[0], 1);
  x[get_global_id(0)] = t[0].a + t[1].a;
}
