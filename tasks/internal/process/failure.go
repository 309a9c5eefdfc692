package process

// Failure is why a process couldn't be started.
type Failure int

// The reasons that make a difference to what happens next.
const (
	Busy     Failure = iota // of memory, processes, open files: may pass
	TooLong                 // arguments and environment together
	Invalid                 // an argument or a variable holds a NUL byte
	Vanished                // the program, its interpreter or its folder can't be used
)
