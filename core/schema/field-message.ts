import type * as z from 'zod'
import { nearest } from '../nearest.ts'

type Issue = z.core.$ZodRawIssue
type Count = { readonly limit: number | bigint; readonly origin: string; readonly input: unknown }

/**
 * Error map (zod) with texts for users, such as `must be allow, deny or require_approval; did you mean allow?`. Each
 * text continues the path of its field. Error texts of a schema take precedence. Returns undefined for other issues,
 * which then have the text of zod.
 */
export function fieldMessage(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return typeMessage(issue.expected, issue.input)
    case 'invalid_value':
      return choiceMessage(issue.values.map(String), issue.input)
    case 'too_small':
      return limitMessage('at least', { ...issue, limit: issue.minimum }, issue.inclusive !== false)
    case 'too_big':
      return limitMessage('at most', { ...issue, limit: issue.maximum }, issue.inclusive !== false)
    case 'invalid_format':
      return issue.format === 'regex' ? `must match the pattern ${issue.pattern}` : undefined
    case 'invalid_union':
      return unionMessage(issue)
    default:
      return undefined
  }
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  null: 'null',
  object: 'an object',
  record: 'an object',
  string: 'a string',
}

const typeName = (type: string): string => TYPES[type] ?? type

function typeMessage(expected: string, input: unknown): string {
  if (input === undefined) return 'is required'
  const given = typeOf(input)
  if (given === 'number' && expected === 'number') return 'must be a finite number'
  return `must be ${typeName(expected)}${expected === 'int' ? '' : `, not ${typeName(given)}`}`
}

function typeOf(input: unknown): string {
  if (input === null) return 'null'
  return Array.isArray(input) ? 'array' : typeof input
}

/** Returns the text for a value that is none of `choices`. */
function choiceMessage(choices: readonly string[], input: unknown): string {
  if (input === undefined) return `is required: ${listed(choices)}`
  const suggestion = typeof input === 'string' ? nearest(input, choices) : undefined
  const advice = suggestion === undefined || choices.length < 2 ? '' : `; did you mean ${suggestion}?`
  return `must be ${listed(choices)}${advice}`
}

function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`
}

function limitMessage(bound: string, { limit, origin, input }: Count, isInclusive: boolean): string {
  if (origin === 'string' && limit === 1 && input === '') return 'must not be empty'
  if (origin === 'string') return `must have ${bound} ${counted(limit, 'character')}`
  if (origin === 'array' || origin === 'set') return `must have ${bound} ${counted(limit, 'element')}`
  if (isInclusive) return `must be ${bound} ${limit}`
  return `must be ${bound === 'at least' ? 'more' : 'less'} than ${limit}`
}

const counted = (count: number | bigint, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

function unionMessage(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string | undefined {
  const { discriminator, options } = issue as { discriminator?: string; options?: readonly unknown[] }
  if (discriminator === undefined || options === undefined) return undefined
  const given = (issue.input as Readonly<Record<string, unknown>> | null)?.[discriminator]
  return choiceMessage(options.map(String), given)
}
