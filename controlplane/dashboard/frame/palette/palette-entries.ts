import type { AgentView } from '../../../../core/wire/agents.ts'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import { hrefOf } from '../../routing/page-location.ts'

/** One line of the palette, which leads to a place of the dashboard. */
export type PaletteEntry = {
  readonly id: string
  readonly kind: 'Page' | 'Agent' | 'Approval' | 'Search'
  readonly label: string
  /** Further text of the entry. The palette shows the text, and the search includes it. */
  readonly detail: string
  readonly href: string
}

/** Fields of a page that the palette shows and searches. */
type PalettePage = { readonly path: string; readonly title: string; readonly group: string }

export type PaletteSources = {
  readonly pages: readonly PalettePage[]
  readonly agents: readonly AgentView[]
  readonly approvals: readonly ApprovalCard[]
  readonly mayReadRecords: boolean
}

const MAX_ENTRIES = 20

/**
 * Returns the entries whose label, detail or kind contains each word of the text; entries whose label begins with the
 * first word come first. For a user who may read the traffic log, the last entry searches the traffic log. For an
 * empty text, returns the pages and the pending approvals.
 */
export function entriesFor(text: string, sources: PaletteSources): readonly PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const all = [...sources.pages.map(pageEntry), ...sources.approvals.map(approvalEntry)]
  if (words.length === 0) return all.slice(0, MAX_ENTRIES)
  const found = [...all, ...sources.agents.map(agentEntry)].filter(({ label, detail, kind }) => {
    const searched = `${label} ${detail} ${kind}`.toLowerCase()
    return words.every((word) => searched.includes(word))
  })
  const [first = ''] = words
  const rank = ({ label }: PaletteEntry) => (label.toLowerCase().startsWith(first) ? 0 : 1)
  const best = found.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_ENTRIES)
  return sources.mayReadRecords ? [...best, trafficSearch(text.trim())] : best
}

function pageEntry({ path, title, group }: PalettePage): PaletteEntry {
  return { id: `page-${path}`, kind: 'Page', label: title, detail: group, href: hrefOf(path) }
}

function agentEntry({ agent_id: id, name, status, environment }: AgentView): PaletteEntry {
  return {
    id: `agent-${id}`,
    kind: 'Agent',
    label: name,
    detail: `${status}, ${environment}`,
    href: hrefOf('agents', { agent: name }),
  }
}

function approvalEntry({ id, action_type: action, agent, target }: ApprovalCard): PaletteEntry {
  return {
    id: `approval-${id}`,
    kind: 'Approval',
    label: action,
    detail: [agent, target].filter(Boolean).join(', '),
    href: hrefOf('approvals', { id }),
  }
}

function trafficSearch(text: string): PaletteEntry {
  return {
    id: 'search',
    kind: 'Search',
    label: `Requests with "${text}"`,
    detail: 'Traffic',
    href: hrefOf('traffic', { q: text }),
  }
}
