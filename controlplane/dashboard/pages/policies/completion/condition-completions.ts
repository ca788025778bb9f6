import { actionCompletions, type Catalogue, typeCompletions } from './action-completions.ts'
import type { Completions, Option } from './completions.ts'
import { type ConditionFunction, FACTS, type Fact, FUNCTIONS } from './policy-language.ts'
import type { TextPlace } from './text-place.ts'

type Typed = Pick<TextPlace, 'text' | 'from' | 'quote'>

/** Facts that are compared with connector types. */
const TYPE_FACTS: ReadonlySet<string> = new Set(['action.connector', 'connector.type', 'resource.provider'])
/** Prefixes of facts whose fields depend on the request. */
const OPEN_FACTS = ['parameters.', 'context.', 'request.query.', 'request.body.'] as const
/** Matches a fact and the operator or function that compares it with the text at the cursor. */
const COMPARED =
  /([a-z_]+\.[a-z_]+)(?:\s*(?:==|!=)\s*|\s+in\s*\[[^\]]*|\.(?:startsWith|endsWith|contains)\(\s*)$/

/**
 * Returns the completions of a CEL expression: names of facts and functions, and the values that a compared fact can
 * have.
 */
export async function conditionCompletions(
  typed: Typed,
  catalogue: Catalogue,
  isExplicit: boolean,
): Promise<Completions | null> {
  const { text, from, quote } = typed
  const start = openString(text)
  if (start !== null) {
    const fact = COMPARED.exec(text.slice(0, start))?.[1]
    return fact === undefined
      ? null
      : valuesOf(fact, { text: text.slice(start + 1), from: from + start + 1 }, catalogue)
  }
  const word = /[\w.]*$/.exec(text)?.[0] ?? ''
  const compared = comparedOptions(text.slice(0, text.length - word.length), quote)
  const at = from + text.length - word.length
  if (word === '' && compared.length > 0) return { from: at, options: compared }
  if (word === '' && !isExplicit) return null
  const dot = word.lastIndexOf('.')
  if (dot === -1) return { from: at, options: [...compared, ...nameOptions()] }
  const options = memberOptions(word.slice(0, dot))
  return options.length === 0 ? null : { from: at + dot + 1, options }
}

/**
 * Returns the offset of the quote that begins a string which is not closed yet; null when the cursor is not inside a
 * string.
 */
function openString(expression: string): number | null {
  const finished = /^(?:[^"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*/.exec(expression)?.[0].length ?? 0
  return finished < expression.length ? finished : null
}

async function valuesOf(
  fact: string,
  typed: { readonly text: string; readonly from: number },
  catalogue: Catalogue,
): Promise<Completions | null> {
  if (fact === 'action.type') return actionCompletions(typed, catalogue, false)
  if (TYPE_FACTS.has(fact)) return { from: typed.from, options: await typeCompletions(catalogue) }
  const values = FACTS.find(({ name }) => name === fact)?.values
  return values === undefined
    ? null
    : { from: typed.from, options: values.map((label) => ({ label, type: 'value' })) }
}

/**
 * Returns the possible values of the fact that the expression compares at the end of `before`. The values have the
 * kind of quotes that does not enclose the YAML value.
 */
function comparedOptions(before: string, quote: TextPlace['quote']): readonly Option[] {
  const fact = COMPARED.exec(before)?.[1]
  const values = FACTS.find(({ name }) => name === fact)?.values ?? []
  const mark = quote === '"' ? "'" : '"'
  return values.map((value) => ({ label: `${mark}${value}${mark}`, type: 'value' }))
}

function nameOptions(): readonly Option[] {
  return [
    ...FACTS.map((fact) => factOption(fact, fact.name)),
    ...OPEN_FACTS.map((label): Option => ({ label, type: 'fact', detail: 'any' })),
    ...FUNCTIONS.filter(({ isGlobal }) => isGlobal).map(functionOption),
  ]
}

/** Returns the fields of a fact, or the methods of a value. */
function memberOptions(owner: string): readonly Option[] {
  const fields = FACTS.filter(({ name }) => name.startsWith(`${owner}.`))
  if (fields.length > 0) return fields.map((fact) => factOption(fact, fact.name.slice(owner.length + 1)))
  const type = FACTS.find(({ name }) => name === owner)?.type ?? 'any'
  return FUNCTIONS.filter(
    ({ receivers }) => receivers.length > 0 && (type === 'any' || receivers.includes(type)),
  ).map(functionOption)
}

function factOption({ type, info }: Fact, label: string): Option {
  return { label, type: 'fact', detail: type, info }
}

function functionOption({ name, info }: ConditionFunction): Option {
  return { label: `${name}(`, type: 'function', info }
}
