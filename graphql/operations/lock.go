package operations

// Lock holds the revisions of operation files that were tested, by the files' names.
type Lock map[string]string
