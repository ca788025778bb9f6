import * as z from 'zod'
import { PolicyDocument } from '../../core/crd/policy/policy-document.ts'
import type { FactType } from '../../core/decision/conditions/fact-types.ts'
import { conditionFacts, conditionFunctions } from '../conditions/condition-language.ts'

type Schema = {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly enum?: readonly string[]
}
type Field = { readonly path: string; readonly schema: Schema }

/**
 * Generates `controlplane/dashboard/pages/policies/completion/policy-language.ts`: fields and values of a policy
 * document, and facts and functions of its conditions, because the dashboard imports only types of core.
 */
export function policyLanguageModule(): string {
  const fields = fieldsOf(
    z.toJSONSchema(PolicyDocument, { io: 'input', unrepresentable: 'any' }) as Schema,
    '',
  )
  return `// Generated from core/crd/policy and the CEL environment by \`npm run generate\`.

export type Described = { readonly name: string; readonly info: string }
/** A fact that conditions can use. \`values\`: possible values of the fact, or of the items of a list. */
export type Fact = Described & { readonly type: string; readonly values?: readonly string[] }
/**
 * A function that conditions can call. \`receivers\`: types that have the function as a method. \`isGlobal\`: true if the
 * function can be called without a receiver.
 */
export type ConditionFunction = Described & { readonly receivers: readonly string[]; readonly isGlobal: boolean }

/** Fields by the path of their mapping. In a path, \`*\` means every item of a list. */
export const POLICY_FIELDS: Readonly<Record<string, readonly Described[]>> = ${literal(keysOf(fields))}

/** Possible values by the path of their field. */
export const POLICY_VALUES: Readonly<Record<string, readonly string[]>> = ${literal(valuesOf(fields))}

export const FACTS: readonly Fact[] = ${literal(facts())}

export const FUNCTIONS: readonly ConditionFunction[] = ${literal(functions())}
`
}

function fieldsOf(schema: Schema, path: string): readonly Field[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    fieldsOf(field, path === '' ? name : `${path}.${name}`),
  )
  const items = schema.items === undefined ? [] : fieldsOf(schema.items, `${path}.*`)
  return [{ path, schema }, ...inner, ...items]
}

function keysOf(fields: readonly Field[]) {
  const mappings = fields.filter(({ schema }) => schema.properties !== undefined)
  return Object.fromEntries(
    mappings.map(({ path, schema }) => [
      path,
      Object.entries(schema.properties ?? {}).map(([name, { description = '' }]) => ({
        name,
        info: plain(description),
      })),
    ]),
  )
}

function valuesOf(fields: readonly Field[]) {
  return Object.fromEntries(
    fields.flatMap(({ path, schema }) => (schema.enum === undefined ? [] : [[path, schema.enum] as const])),
  )
}

/**
 * Returns the facts without those with arbitrary fields, because only a request determines the names of these fields.
 */
function facts() {
  return conditionFacts()
    .filter(({ name }) => !name.endsWith('.NAME'))
    .map(({ name, type, content, example }) => ({
      name,
      type: name === 'now' ? 'timestamp' : kindOf(type),
      ...(type === undefined || typeof type === 'string'
        ? {}
        : { values: 'listOf' in type ? type.listOf : type }),
      info: `${plain(content)}\n${example}`,
    }))
}

function kindOf(type: FactType | undefined): string {
  if (type === undefined) return 'any'
  if (typeof type === 'string') return type
  return 'listOf' in type ? 'list' : 'string'
}

function functions() {
  return conditionFunctions().map(({ name, signatures, content, example }) => {
    const receivers = signatures.flatMap((text) => /^(\w+)\.\w+\(/.exec(text)?.[1] ?? [])
    return {
      name,
      receivers: [...new Set(receivers)],
      isGlobal: signatures.some((text) => text.startsWith(`${name}(`)),
      info: `${plain(content)}\n${example}`,
    }
  })
}

/** Removes the marks of Markdown, which the list of completions does not render. */
function plain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '')
}

function literal(value: unknown): string {
  return JSON.stringify(value)
}
