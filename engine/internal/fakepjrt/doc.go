// Package fakepjrt is a PJRT plugin without a device, for tests: a shared library that the C compiler makes of
// testdata/plugin.c, whose executions end and fail when a test says so.
package fakepjrt
