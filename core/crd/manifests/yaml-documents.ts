import { Composer, type CST, type Document, Lexer, type LineCounter, Parser } from 'yaml'

export type YamlText = {
  /** Documents before the first one that is nested too deeply. */
  readonly documents: readonly Document.Parsed[]
  /** Offset at which the nesting exceeds the limit; null if no document exceeds it. */
  readonly tooDeepAt: number | null
}

/** Maximum nesting depth, in open nodes of the YAML parser. A manifest needs about 40, a workload somewhat more. */
const MAX_OPEN = 300

/** Error text for a document that is nested too deeply. */
export const TOO_DEEP = 'the manifest is nested too deeply; no manifest needs more than about 40 levels'

/**
 * Parses every document of a text, like `parseAllDocuments` of the library, whose recursion would overflow the stack
 * for deep texts. `lines` receives the offsets of line starts. Never throws: each document contains its own errors.
 */
export function readYamlDocuments(text: string, lines: LineCounter, maxOpen = MAX_OPEN): YamlText {
  let tooDeepAt: number | null = null
  function* tokens(): Generator<CST.Token> {
    const parser = new Parser(lines.addNewLine)
    lines.addNewLine(0)
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme)
      if (parser.stack.length <= maxOpen) continue
      tooDeepAt = parser.offset
      return
    }
    yield* parser.end()
  }
  const composer = new Composer({ lineCounter: lines, uniqueKeys: true })
  const documents = [...composer.compose(tokens(), false, text.length)] as Document.Parsed[]
  return { documents, tooDeepAt }
}
