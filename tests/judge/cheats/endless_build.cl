// INVALID: took more than
#define A(x) B(x x x x)
#define B(x) C(x x x x)
#define C(x) D(x x x x)
#define D(x) E(x x x x)
#define E(x) F(x x x x)
#define F(x) G(x x x x)
#define G(x) H(x x x x)
#define H(x) I(x x x x)
#define I(x) J(x x x x)
#define J(x) x x x x x x x x
kernel void endless(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  float s = 0;
  A(s += s * x[i];)
  y[i] = 2 * x[i];
}
