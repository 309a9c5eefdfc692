// Package decode turns YAML text into plain Go structs with yaml tags. It
// reports every mistake with its place instead of the first one, and remembers
// where each value stood, so that what is wrong with a value can be said with
// its place as well.
//
// To add a key: add a field with a yaml tag. Values are strings, bools, ints,
// structs, slices, Maps, Trees, and types with UnmarshalText. Of a struct, the
// field tagged decode:"list" is what a list in place of the struct stands for.
// Package yaml's own decoder isn't used because it drops null items of lists,
// gives no columns to values, and takes yes and 012 for what they look like.
package decode
