import type * as z from 'zod'
import { fieldPaths } from '../wire/schema/tolerant.ts'
import type { StandIn, StandInMaker } from './stand-ins.ts'

/** Content of a section. A stand-in (see `StandIn`) replaces each entry that this version does not understand. */
export type ReadEntries<E> = {
  readonly entries: readonly E[]
  readonly notUnderstood: ReadonlyArray<StandIn<E>>
}

type EntrySchema<E> = z.ZodType<E & { readonly critical?: readonly string[] | undefined }>

/**
 * Parses the content of a section. `problem` describes the first entry that is invalid in every version, with its
 * path.
 */
export type EntryReader<E> = (content: unknown) => ReadEntries<E> | { readonly problem: string }

/**
 * Creates the parser of a section with a list of entries. The parser ignores unknown fields. A stand-in, which denies
 * the scope of the entry, replaces an entry with an unknown critical field, or with a value that only a newer version
 * accepts.
 */
export function createListReader<E>(schema: EntrySchema<E>, makeStandIn: StandInMaker<E>): EntryReader<E> {
  const read = createSingleReader(schema, makeStandIn)
  return (content) => {
    if (!Array.isArray(content)) return { problem: 'content: Invalid input: expected array' }
    const all = content.map(read)
    const invalid = all.findIndex((each) => 'problem' in each)
    const first = all[invalid]
    if (first !== undefined && 'problem' in first) return { problem: withIndex(invalid, first.problem) }
    const readable = all.filter((each) => 'entries' in each)
    return {
      entries: readable.flatMap(({ entries }) => entries),
      notUnderstood: readable.flatMap(({ notUnderstood }) => notUnderstood),
    }
  }
}

/** Creates the parser of a section that consists of one entry. */
export function createSingleReader<E>(schema: EntrySchema<E>, makeStandIn: StandInMaker<E>): EntryReader<E> {
  const known = fieldPaths(schema)
  return (raw) => {
    const read = readEntry(raw, schema, known)
    if ('entry' in read) return { entries: [read.entry], notUnderstood: [] }
    const standIn = 'fields' in read ? makeStandIn(raw, read.fields) : null
    if (standIn === null) return { problem: read.problem }
    return { entries: standIn.entry === null ? [] : [standIn.entry], notUnderstood: [standIn] }
  }
}

type ReadEntry<E> =
  | { readonly entry: E }
  /**
   * Fields of the entry that this version does not understand. `problem` is reported instead if the scope of the entry
   * is not readable either.
   */
  | { readonly fields: readonly string[]; readonly problem: string }
  | { readonly problem: string }

function readEntry<E>(raw: unknown, schema: EntrySchema<E>, known: ReadonlySet<string>): ReadEntry<E> {
  const result = schema.safeParse(raw)
  if (!result.success) {
    const { issues } = result.error
    const problem = issues.map(({ path, message }) => `${path.join('.') || 'content'}: ${message}`).join('; ')
    // The type of a field never changes between versions. A value outside of an enum, pattern or bound may be valid in
    // a newer version.
    if (issues.some(({ code }) => code === 'invalid_type')) return { problem }
    return { fields: [...new Set(issues.map(({ path }) => fieldOf(path)))], problem }
  }
  const unknown = (result.data.critical ?? []).filter((field) => !known.has(field))
  if (unknown.length === 0) return { entry: result.data }
  return {
    fields: unknown,
    problem: `${unknown.join(', ')}: unknown to this version of the gateway; upgrade the gateway`,
  }
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path.filter((step) => typeof step !== 'number').join('.') || 'content'
}

function withIndex(index: number, problem: string): string {
  return problem
    .split('; ')
    .map((each) => `${index}.${each}`)
    .join('; ')
}
