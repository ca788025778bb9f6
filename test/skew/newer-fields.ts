import type { NewerField } from './skew-programs.ts'

/** The fields that the fixture of a newer version adds, from its environment. */
const FIELDS = JSON.parse(process.env['NEWER_FIELDS'] ?? '[]') as readonly NewerField[]

/** Adds the fields of the fixture to an entry of a section, in every item of the lists on their paths. */
export function addNewerFields(entry: unknown, section: string): unknown {
  const named = (entry as { readonly name?: string } | null)?.name
  return FIELDS.filter((field) => field.section === section)
    .filter(({ names }) => names === undefined || (named !== undefined && names.includes(named)))
    .reduce((sum, { field, value }) => withField(sum, field.split('.'), value), entry)
}

function withField(target: unknown, path: readonly string[], value: unknown): unknown {
  if (Array.isArray(target)) return target.map((item) => withField(item, path, value))
  const [name, ...rest] = path
  if (name === undefined || typeof target !== 'object' || target === null) return target
  const members = target as Readonly<Record<string, unknown>>
  if (rest.length === 0) return { ...members, [name]: value }
  return name in members ? { ...members, [name]: withField(members[name], rest, value) } : members
}
