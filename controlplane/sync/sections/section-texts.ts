import { sectionText } from '../../../core/snapshot/sections.ts'
import { addressedEntry } from '../../../core/wire/gateway/addressed-entry.ts'
import { type EntrySection, FIELD_ADDITIONS } from '../../../core/wire/gateway/field-additions.ts'
import { sha256Hex } from '../../crypto/sha256.ts'

/** JSON text of one section, and its SHA-256 in hex. Receivers with equal content share one object. */
export type Section = { readonly hash: string; readonly text: string }

/** Sections of one configuration. Sections with the content of the previous configuration keep their text. */
export type SectionTexts = {
  /** Returns the section with this content, in the form for a process of `protocol`. */
  sectionOf(name: string, content: unknown, protocol: number): Section
  /** The returned sections by hash. */
  readonly sections: ReadonlyMap<string, Section>
}

/**
 * `previous`: the sections of the configuration before. They are a map, because a closure would keep the sections of all
 * configurations before it in memory.
 */
export function createSectionTexts(previous: SectionTexts['sections'] = new Map()): SectionTexts {
  const known = new Map<string, Section>()
  return {
    sectionOf(name, content, protocol) {
      const text = sectionText(addressed(name, content, protocol))
      const hash = sha256Hex(text)
      const section = known.get(hash) ?? previous.get(hash) ?? { hash, text }
      known.set(hash, section)
      return section
    },
    sections: known,
  }
}

function addressed(name: string, content: unknown, protocol: number): unknown {
  const section = ENTRY_SECTIONS.get(name.split('.')[0] ?? name)
  if (section === undefined) return content
  const address = (entry: unknown) => addressedEntry(entry, section, { protocol, additions: FIELD_ADDITIONS })
  return Array.isArray(content) ? content.map(address) : address(content)
}

const ENTRY_SECTIONS: ReadonlyMap<string, EntrySection> = new Map(
  (['gateway', 'agents', 'connectors', 'policies', 'permissions'] as const).map((name) => [name, name]),
)
