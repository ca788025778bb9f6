import {
  COMPILER_FUNCTIONS,
  createCelEnvironment,
  FACT_NAMES,
} from '../../core/decision/conditions/cel-environment.ts'
import { REFUSED_FUNCTIONS } from '../../core/decision/conditions/cel-shape.ts'
import { FACT_FIELDS } from '../../core/decision/conditions/fact-shapes.ts'
import { FACT_TYPES, type FactType } from '../../core/decision/conditions/fact-types.ts'
import { FACT_TEXTS, type FactText, NOW_TEXT } from './condition-facts.ts'
import { FUNCTION_TEXTS, type FunctionText } from './condition-functions.ts'

/**
 * Fact with its name in conditions, such as `action.type`. `type` is undefined for `now`, and for facts whose
 * type depends on the request.
 */
export type ConditionFact = FactText & { readonly name: string; readonly type: FactType | undefined }
export type ConditionFunction = FunctionText & {
  readonly name: string
  readonly signatures: readonly string[]
}

/** Returns the facts of conditions. Throws if a fact has no description. */
export function conditionFacts(): readonly ConditionFact[] {
  const facts = FACT_NAMES.flatMap((fact) => {
    const fields = FACT_FIELDS.get(fact) ?? Object.keys(FACT_TYPES[fact] ?? { NAME: '' })
    return fields.map((field) => {
      const text = FACT_TEXTS[fact]?.[field]
      if (text === undefined) throw new Error(`scripts/conditions/condition-facts.ts has no ${fact}.${field}`)
      return { name: `${fact}.${field}`, type: FACT_TYPES[fact]?.[field], ...text }
    })
  })
  return [...facts, { name: 'now', type: undefined, ...NOW_TEXT }]
}

/**
 * Returns the functions of the CEL environment. Throws if a function has no description, or if a description has no
 * function.
 */
export function conditionFunctions(): readonly ConditionFunction[] {
  const functions = createCelEnvironment()
    .getDefinitions()
    .functions.filter(({ name, receiverType }) => isAvailable(name, receiverType))
  const byName = Map.groupBy(functions, ({ name }) => name)
  const missing = [...byName.keys()].filter((name) => FUNCTION_TEXTS[name] === undefined)
  if (missing.length > 0)
    throw new Error(`scripts/conditions/condition-functions.ts has no ${missing.join(', ')}`)
  return Object.entries(FUNCTION_TEXTS).map(([name, text]) => {
    const overloads = byName.get(name)
    if (overloads === undefined) throw new Error(`conditions have no function ${name}`)
    const signatures = [...new Set(overloads.map(({ signature }) => plainSignature(signature)))]
    return { name, signatures, ...text }
  })
}

/**
 * Reports whether conditions can call the function. Optional values are disabled, and only the compiler itself calls
 * some functions.
 */
function isAvailable(name: string, receiverType: string | null): boolean {
  if (COMPILER_FUNCTIONS.has(name) || REFUSED_FUNCTIONS.has(name)) return false
  return receiverType === null || !/^optional|^OptionalNamespace/.test(receiverType)
}

/** Shortens the signatures of the library: `google.protobuf.Timestamp` is `timestamp`, `list<dyn>` is `list`. */
function plainSignature(signature: string): string {
  if (signature.startsWith('type(')) return 'type(any): type'
  return signature
    .replaceAll(/google\.protobuf\.(\w+)/g, (_, name: string) => name.toLowerCase())
    .replaceAll(/<dyn(, dyn)?>/g, '')
    .replaceAll('ast, ast', 'NAME, EXPRESSION')
    .replaceAll('EXPRESSION, ast', 'EXPRESSION, EXPRESSION')
    .replaceAll('(ast)', '(FIELD)')
}
