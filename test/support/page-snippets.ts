import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const DOCS = join(import.meta.dirname, '../../docs')

/** Returns the code blocks of a page in a language (empty: no language), or of one of its sections (`## HEADING`). */
export function pageSnippets(page: string, language: string, heading?: string): readonly string[] {
  const text = readFileSync(join(DOCS, page), 'utf8')
  const wanted =
    heading === undefined
      ? text
      : (text.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? '')
  return [...wanted.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, of, snippet = '']) =>
    of === language ? [snippet] : [],
  )
}

/** Returns the commands of a snippet, each with its continuation lines and its here-document. */
export function snippetCommands(snippet: string): readonly string[] {
  return snippet.split(/^(?=(?:chaperone|helm|kubectl) )/m).filter((command) => command.trim() !== '')
}

/** Returns the words of a command of one line, without its comment. Words with quotes are not supported. */
export function commandWords(command: string): readonly string[] {
  return command
    .replace(/\s+#.*$/m, '')
    .trim()
    .split(/\s+/)
}

/** Replaces what only the reader has, such as a registry. Throws where the snippet does not have it. */
export function withReaderValues(snippet: string, values: Readonly<Record<string, string>>): string {
  let text = snippet
  for (const [from, to] of Object.entries(values)) {
    if (!text.includes(from)) throw new Error(`the snippet does not have "${from}": ${snippet}`)
    text = text.replaceAll(from, () => to)
  }
  return text
}
