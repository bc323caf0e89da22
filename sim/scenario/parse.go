package scenario

import (
	"strings"
)

// rule is the line between statements and the output they must give.
const rule = "----"

// blanks are the characters that part words, and of which blank lines consist.
const blanks = " \t\r"

// A Script is a scenario as read by [Parse].
type Script struct {
	// Title is the text of the first comment, without the '#'.
	Title string
	// Blocks follow each other on one state.
	Blocks []Block

	lines []string
}

// A Block is some statements and what they must print.
type Block struct {
	// Line is where the block begins, counted from 1.
	Line int
	// Checked says that the block has a rule line, so that its output counts.
	Checked bool
	// Expected is the output as the text gives it, each line with its end.
	Expected string

	statements []statement
	// The lines of Expected, as a half-open range of Script.lines.
	from, to int
}

// A statement is a command and its arguments.
type statement struct {
	command word
	args    []word
}

// Parse reads a scenario. The error is an [*Error]: the first fault of form.
// What the statements mean is judged by [Run].
func Parse(text string) (*Script, error) {
	s := &Script{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	var block *Block
	for at := 0; at < len(s.lines); at++ {
		line := s.lines[at]
		if err := checkText(line, at+1); err != nil {
			return nil, err
		}
		if block != nil && strings.TrimRight(line, blanks) == rule {
			var err error
			if at, err = s.closeBlock(block, at+1); err != nil {
				return nil, err
			}
			block = nil
			continue
		}
		if title, ok := strings.CutPrefix(line, "#"); ok && s.Title == "" {
			s.Title = strings.TrimSpace(title)
		}
		statements, err := splitLine(line, at+1)
		if err != nil {
			return nil, err
		}
		for _, words := range statements {
			if block == nil {
				s.Blocks = append(s.Blocks, Block{Line: at + 1})
				block = &s.Blocks[len(s.Blocks)-1]
			}
			st := statement{command: words[0], args: words[1:]}
			if command(st.command.text) == nil {
				return nil, st.command.errorf("unknown statement %q", st.command.text)
			}
			block.statements = append(block.statements, st)
		}
	}
	return s, nil
}

// closeBlock takes the lines from 'from' to the next blank one as the block's
// output and returns the index of the last line taken.
func (s *Script) closeBlock(b *Block, from int) (int, error) {
	b.Checked, b.from, b.to = true, from, from
	var expected strings.Builder
	for b.to < len(s.lines) && strings.Trim(s.lines[b.to], blanks) != "" {
		if err := checkText(s.lines[b.to], b.to+1); err != nil {
			return 0, err
		}
		expected.WriteString(strings.TrimRight(s.lines[b.to], blanks))
		expected.WriteByte('\n')
		b.to++
	}
	b.Expected = expected.String()
	return b.to - 1, nil
}

// Rewrite is the text of the scenario with the outputs, one per block, in the
// place of what its checked blocks expect.
func (s *Script) Rewrite(outputs []string) string {
	var text strings.Builder
	at := 0
	for i, b := range s.Blocks {
		if !b.Checked {
			continue
		}
		for ; at < b.from; at++ {
			text.WriteString(s.lines[at] + "\n")
		}
		text.WriteString(outputs[i])
		at = b.to
	}
	for ; at < len(s.lines); at++ {
		text.WriteString(s.lines[at] + "\n")
	}
	return text.String()
}
