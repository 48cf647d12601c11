//go:build race

package main

// raceDetector: a test run with the race detector builds the program with it, too.
const raceDetector = true
