package command

// UsageError says that a command was called with settings that make no sense, whatever the data: the program exits with 2, not 1.
type UsageError struct{ Err error }

// Error is that of the settings.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the settings.
func (e *UsageError) Unwrap() error { return e.Err }

// CheckUsage calls the Check of a settings struct, given by its address, where it has one.
func CheckUsage(settings any) error {
	if s, ok := settings.(interface{ Check() error }); ok {
		if err := s.Check(); err != nil {
			return &UsageError{err}
		}
	}
	return nil
}
