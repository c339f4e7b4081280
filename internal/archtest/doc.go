// Package archtest proves, by its tests, that imports run only along the arrows
// drawn in docs/architecture.md, and that each large library has one importer.
package archtest
