// Package paper is the paper this project implements, Sun, Ahn, Thrampoulidis and Azizan, "Mirror Descent Maximizes
// Generalized Margin and Can Be Implemented Efficiently" (NeurIPS 2022): its settings and the reproduction of its
// numbers, which are in package numbers.
package paper
