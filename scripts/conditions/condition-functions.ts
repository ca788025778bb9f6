/** Description of a function or an operator of conditions, for `docs/conditions.md`. */
export type FunctionText = {
  readonly content: string
  /** Condition whose value is true; the tests evaluate it. */
  readonly example: string
}

/** Descriptions of the functions by name, in the order of the page. */
export const FUNCTION_TEXTS: Readonly<Record<string, FunctionText>> = {
  has: {
    content:
      'Whether a field exists. True also for a fact that is unknown; a condition that reads the value of an unknown fact cannot be evaluated.',
    example: '!has(parameters.sha)',
  },
  size: {
    content: 'Number of characters, bytes, elements or keys.',
    example: 'size(parameters.labels) == 2',
  },
  startsWith: {
    content: 'Whether a text begins with another text.',
    example: '"release/1.2".startsWith("release/")',
  },
  endsWith: { content: 'Whether a text ends with another text.', example: '"site.md".endsWith(".md")' },
  contains: {
    content: 'Whether a text contains another text. For lists, use the operator `in`.',
    example: '"a wide text".contains("wide")',
  },
  matches: {
    content: 'Whether a regular expression (RE2) matches anywhere in a text. The pattern must be a literal.',
    example: '"v1.2.3".matches("^v[0-9]+([.][0-9]+)*$")',
  },
  lowerAscii: { content: 'Text in lower case, ASCII only.', example: '"Main".lowerAscii() == "main"' },
  upperAscii: { content: 'Text in upper case, ASCII only.', example: '"main".upperAscii() == "MAIN"' },
  trim: { content: 'Text without white space at both ends.', example: '" main ".trim() == "main"' },
  indexOf: {
    content:
      'First position of a text within a text, optionally searched from a given position; -1 if the text does not occur.',
    example: '"a/b/c".indexOf("/", 2) == 3',
  },
  lastIndexOf: {
    content: 'Last position of a text within a text; -1 if the text does not occur.',
    example: '"a/b/c".lastIndexOf("/") == 3',
  },
  substring: {
    content: 'Part of a text from a start position up to, but not including, an end position.',
    example: '"release".substring(0, 3) == "rel"',
  },
  exists: {
    content: 'Whether a condition is true for some element, or some key of a map.',
    example: 'parameters.labels.exists(l, l == "bug")',
  },
  all: {
    content: 'Whether a condition is true for each element.',
    example: 'parameters.labels.all(l, l.size() > 0)',
  },
  exists_one: {
    content: 'Whether a condition is true for exactly one element.',
    example: 'parameters.labels.exists_one(l, l == "bug")',
  },
  filter: {
    content: 'List of the elements for which a condition is true.',
    example: 'parameters.labels.filter(l, l != "bug").size() == 1',
  },
  map: {
    content:
      'List of the values of an expression for each element. With three arguments, the second one is a condition that selects the elements.',
    example: '"BUG" in parameters.labels.map(l, l.upperAscii())',
  },
  int: { content: 'A number or a text, converted to an integer.', example: 'int("12") == 12' },
  uint: { content: 'A number or a text, converted to an unsigned integer.', example: 'uint("12") == 12u' },
  double: {
    content: 'A number or a text, converted to a floating-point number.',
    example: 'double("1.5") == 1.5',
  },
  string: { content: 'A value, converted to a text.', example: 'string(12) == "12"' },
  bool: { content: 'The text true or false, converted to a truth value.', example: 'bool("true")' },
  bytes: { content: 'A text, converted to its bytes in UTF-8.', example: 'bytes("a") == b"a"' },
  hex: { content: 'Bytes, converted to a hexadecimal text.', example: 'bytes("a").hex() == "61"' },
  base64: { content: 'Bytes, converted to a Base64 text.', example: 'bytes("a").base64() == "YQ=="' },
  at: { content: 'Byte at a position, counted from 0.', example: 'bytes("a").at(0) == 97' },
  dyn: {
    content: 'The same value, with a dynamic type that the compiler does not check.',
    example: 'dyn(parameters.number) == 7',
  },
  type: { content: 'Type of a value.', example: 'type(parameters.number) == int' },
  timestamp: {
    content: 'A text (RFC 3339) or seconds since 1970, converted to a time.',
    example: 'now > timestamp("2026-01-01T00:00:00Z")',
  },
  duration: {
    content: 'A text such as `90s` or `1h30m`, converted to a duration.',
    example: 'now - timestamp("2026-01-01T00:00:00Z") < duration("1h")',
  },
  getFullYear: { content: 'Year, in UTC or a time zone.', example: 'now.getFullYear() == 2026' },
  getMonth: { content: 'Month from 0, which is January.', example: 'now.getMonth() == 0' },
  getDate: { content: 'Day of the month from 1.', example: 'now.getDate() == 1' },
  getDayOfMonth: { content: 'Day of the month from 0.', example: 'now.getDayOfMonth() == 0' },
  getDayOfYear: { content: 'Day of the year from 0.', example: 'now.getDayOfYear() == 0' },
  getDayOfWeek: { content: 'Day of the week from 0, which is Sunday.', example: 'now.getDayOfWeek() == 4' },
  getHours: {
    content: 'Hour from 0, in UTC or a time zone; of a duration, its whole length in hours.',
    example: 'now.getHours("Europe/Berlin") == 1',
  },
  getMinutes: {
    content: 'Minute from 0; of a duration, its whole length in minutes.',
    example: 'now.getMinutes() == 30',
  },
  getSeconds: {
    content: 'Second from 0; of a duration, its whole length in seconds.',
    example: 'duration("2m").getSeconds() == 120',
  },
  getMilliseconds: {
    content: 'Milliseconds within the second; of a duration, its whole length in milliseconds.',
    example: 'duration("2s").getMilliseconds() == 2000',
  },
}

/** Operators with their descriptions, in descending order of precedence. */
export const OPERATOR_TEXTS: ReadonlyArray<FunctionText & { readonly operator: string }> = [
  {
    operator: '.',
    content: 'Field of a fact or map. The name is a literal.',
    example: 'action.effect == "write"',
  },
  {
    operator: '[ ]',
    content: 'Field with any name, or element of a list from 0.',
    example: 'request.segments[0] == "repos"',
  },
  { operator: '!', content: 'Not.', example: '!action.unmapped' },
  { operator: '- (sign)', content: 'Negative number.', example: '-parameters.number == -7' },
  {
    operator: '* / %',
    content: 'Arithmetic on int and double; `%` on int.',
    example: 'parameters.number % 2 == 1',
  },
  {
    operator: '+ -',
    content: 'Arithmetic; `+` also joins texts and lists; on times and durations.',
    example: 'parameters.number + 0.5 == 7.5',
  },
  {
    operator: '== !=',
    content: 'Equality. A comparison of a list with a single value has no value.',
    example: 'action.risk != "low"',
  },
  { operator: '< <= > >=', content: 'Order of numbers, texts and times.', example: 'risk.score >= 0.5' },
  {
    operator: 'in',
    content: 'Element of a list, or key of a map.',
    example: 'action.risk in ["medium", "high"]',
  },
  {
    operator: '&&',
    content: 'And. False if one side is false, even if the other one has no value.',
    example: '!(false && parameters.sha == "x")',
  },
  {
    operator: '||',
    content: 'Or. True if one side is true, even if the other one has no value.',
    example: 'true || parameters.sha == "x"',
  },
  {
    operator: '? :',
    content: 'Choice between two values.',
    example: '(has(parameters.sha) ? parameters.sha : "none") == "none"',
  },
]
