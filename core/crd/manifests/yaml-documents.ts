import { Composer, type CST, type Document, Lexer, type LineCounter, Parser } from 'yaml'

export type YamlText = {
  /** What a nested document that was given up would have been is left out, and so is what follows it. */
  readonly documents: readonly Document.Parsed[]
  /** Offset at which the text is nested too deeply; null when it is not. */
  readonly tooDeepAt: number | null
}

/** Of collections and their items while they are read: a manifest has about forty, that of a workload some more. */
export const MAX_OPEN = 300

/** What to say of a text that is. */
export const TOO_DEEP = 'is nested too deeply: no manifest needs more than thirty levels'

/**
 * Reads every document of a text, as `parseAllDocuments` of the library does, which goes as deep as a text does until
 * its stack is full. `lines` is told where lines begin. Errors are in each document; it never throws.
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
