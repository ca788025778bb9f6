import { Modal, Text, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import type { PageEntry } from '../../pages/page-list.tsx'
import { useSession } from '../../session/session.tsx'
import { entriesFor, type PaletteEntry } from './palette-entries.ts'

const ICONS = { Page: 'policies', Agent: 'agents', Approval: 'approvals', Search: 'search' } as const
const PENDING = { query: { status: 'pending', limit: 100 } } as const

type PaletteProps = {
  /** Pages that the user has the right to. */
  readonly pages: readonly PageEntry[]
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** Renders a dialog in which the user finds a page, an agent or a pending approval by its name and opens it. */
export function CommandPalette({ pages, isOpen, onClose }: PaletteProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Go to"
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
      yOffset="10vh"
    >
      <Search pages={pages} onClose={onClose} />
    </Modal>
  )
}

/** Renders a text field with a list box, as the combobox pattern of WAI-ARIA 1.2 describes. */
function Search({ pages, onClose }: Omit<PaletteProps, 'isOpen'>) {
  const listId = useId()
  const [text, setText] = useState('')
  const [selected, setSelected] = useState(0)
  const entries = useEntries(text, pages)
  const chosen = entries[Math.min(selected, entries.length - 1)]
  const idOf = ({ id }: PaletteEntry) => `${listId}-${id}`
  const chosenId = chosen && idOf(chosen)
  useEffect(() => {
    if (chosenId) document.getElementById(chosenId)?.scrollIntoView({ block: 'nearest' })
  }, [chosenId])
  const go = (entry: PaletteEntry) => {
    location.hash = entry.href
    onClose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter' && chosen !== undefined) go(chosen)
    else if (step !== undefined && entries.length > 0)
      setSelected((Math.min(selected, entries.length - 1) + step + entries.length) % entries.length)
    else return
    event.preventDefault()
  }
  return (
    <>
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Page, agent or approval"
        aria-expanded
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={chosenId}
        placeholder="Page, agent or approval"
        leftSection={<Icon name="search" size={16} />}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setSelected(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label="Results" className="palette">
        {entries.map((entry) => (
          <div
            key={entry.id}
            id={idOf(entry)}
            role="option"
            aria-selected={entry === chosen}
            tabIndex={-1}
            className="palette-entry"
            onClick={() => go(entry)}
            onKeyDown={onKeyDown}
          >
            <Icon name={ICONS[entry.kind]} size={16} />
            <span className="palette-text">
              <UntrustedText text={entry.label} />
              <Text size="sm" c="dimmed" component="span">
                <UntrustedText text={[entry.kind, entry.detail].join(' · ')} />
              </Text>
            </span>
          </div>
        ))}
      </div>
      {entries.length === 0 ? (
        <Text size="sm" c="dimmed" mt="sm">
          No page, agent or approval matches. Try another name.
        </Text>
      ) : null}
    </>
  )
}

function useEntries(text: string, pages: readonly PageEntry[]): readonly PaletteEntry[] {
  const { may } = useSession()
  const agents = useResource('GET /api/dashboard/agents', may('agents/get') ? {} : null)
  const approvals = useResource('GET /api/dashboard/proxy-approvals', may('approvals/get') ? PENDING : null, {
    on: ['approvals'],
  })
  return entriesFor(text, {
    pages,
    agents: agents.data?.agents ?? [],
    approvals: approvals.data?.approvals ?? [],
    mayReadRecords: may('records/get'),
  })
}
