import { sectionText } from '../../../core/snapshot/sections.ts'
import { addressedEntry } from '../../../core/wire/gateway/sections/addressed-entry.ts'
import { type EntrySection, FIELD_ADDITIONS } from '../../../core/wire/gateway/sections/field-additions.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { complete, inSteps, type Steps } from './steps.ts'

/** JSON text of one section, and its SHA-256 in hex. Receivers with equal content share one object. */
export type Section = { readonly hash: string; readonly text: string }

/** Sections of one configuration. A section that has not changed shares its text with the previous configuration. */
export type SectionTexts = {
  /** Returns the section with this content, in the form for a process of `protocol`. */
  sectionOf(name: string, content: unknown, protocol: number): Section
  /**
   * Returns the same section as `sectionOf`, in steps, so that the caller can yield to the event loop between
   * two steps.
   */
  stepsOf(name: string, content: unknown, protocol: number): Steps<Section>
  /** The sections that were returned so far, by hash. */
  readonly sections: ReadonlyMap<string, Section>
}

/**
 * @param previous Sections of the previous configuration. The parameter is a map and not a `SectionTexts`, whose
 * closure would keep the sections of all earlier configurations in memory.
 */
export function createSectionTexts(previous: SectionTexts['sections'] = new Map()): SectionTexts {
  const known = new Map<string, Section>()
  function* stepsOf(name: string, content: unknown, protocol: number): Steps<Section> {
    const address = addresser(name, protocol)
    const text = Array.isArray(content) ? yield* listText(content, address) : sectionText(address(content))
    const hash = sha256Hex(text)
    const section = known.get(hash) ?? previous.get(hash) ?? { hash, text }
    known.set(hash, section)
    return section
  }
  return {
    sectionOf: (name, content, protocol) => complete(stepsOf(name, content, protocol)),
    stepsOf,
    sections: known,
  }
}

/** Serializes a list in steps, to the same text as `sectionText`. */
function* listText(entries: readonly unknown[], address: (entry: unknown) => unknown): Steps<string> {
  const texts: string[] = []
  yield* inSteps(entries, (some) => {
    texts.push(sectionText(some.map(address)).slice(1, -1))
  })
  return `[${texts.join(',')}]`
}

function addresser(name: string, protocol: number): (entry: unknown) => unknown {
  const section = ENTRY_SECTIONS.get(name.split('.')[0] ?? name)
  if (section === undefined) return (entry) => entry
  return (entry) => addressedEntry(entry, section, { protocol, additions: FIELD_ADDITIONS })
}

const ENTRY_SECTIONS: ReadonlyMap<string, EntrySection> = new Map(
  (['gateway', 'agents', 'connectors', 'policies', 'permissions'] as const).map((name) => [name, name]),
)
