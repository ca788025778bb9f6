import { Autocomplete, Button, Group, SegmentedControl, SimpleGrid, TextInput } from '@mantine/core'
import { useDebouncedCallback, useDisclosure, useMediaQuery } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { Icon } from '../../components/layout/icon.tsx'
import { useResource } from '../../live/use-resource.ts'
import type { Filters } from './filters.ts'

type Props = {
  readonly filters: Filters
  readonly onChange: (changes: Readonly<Record<string, string | null>>) => void
  readonly onClear: () => void
}

const DECISIONS = [
  { value: '', label: 'All' },
  { value: 'ALLOW', label: 'Allowed' },
  { value: 'HOLD', label: 'Held' },
  { value: 'DENY', label: 'Denied' },
]

/**
 * Shows the filters of the traffic log. The URL contains the filters, so that users can share a view. On narrow
 * screens, the advanced filters are collapsed.
 */
export function FilterBar({ filters, onChange, onClear }: Props) {
  const isWide = useMediaQuery('(min-width: 48em)', true, { getInitialValueInEffect: false })
  const isFiltered = Object.keys(filters).length > 0
  const [isOpen, { toggle }] = useDisclosure(Object.keys(filters).some((name) => !ALWAYS_SHOWN.has(name)))
  const set: Setter = (name) => (value) => onChange({ [name]: value === '' ? null : value })
  return (
    <section aria-label="Filters">
      <Group gap="sm" mb="sm">
        <SegmentedControl
          aria-label="Decision"
          value={filters.decision ?? ''}
          onChange={set('decision')}
          data={DECISIONS}
        />
        <div className="grow">
          <DebouncedInput
            label="Search"
            isLabelHidden
            icon
            placeholder="Search action, host, path …"
            value={filters.q ?? ''}
            onChange={set('q')}
          />
        </div>
        {isWide ? null : (
          <Button variant="default" onClick={toggle} aria-expanded={isOpen}>
            {isOpen ? 'Fewer filters' : 'More filters'}
          </Button>
        )}
        {isFiltered ? (
          <Button variant="subtle" onClick={onClear}>
            Clear filters
          </Button>
        ) : null}
      </Group>
      {isWide || isOpen ? (
        <SimpleGrid cols={{ base: 1, xs: 2, sm: 3, lg: 6 }} spacing="sm">
          <AdvancedFilters filters={filters} set={set} />
        </SimpleGrid>
      ) : null}
    </section>
  )
}

type Setter = (name: keyof Filters) => (value: string) => void
const ALWAYS_SHOWN: ReadonlySet<string> = new Set(['q', 'decision'])

function AdvancedFilters({ filters, set }: { readonly filters: Filters; readonly set: Setter }) {
  const activity = useResource('GET /api/dashboard/activity', { query: { seconds: 86_400 } })
  const catalogue = useResource('GET /api/dashboard/catalogue', {})
  const names = activity.data?.agents.map(({ agent }) => agent) ?? []
  const types = catalogue.data?.connectors.map(({ type }) => type) ?? []
  return (
    <>
      <DebouncedInput label="Agent" data={names} value={filters.agent ?? ''} onChange={set('agent')} />
      <DebouncedInput label="Instance" value={filters.instance ?? ''} onChange={set('instance')} />
      <DebouncedInput
        label="Connector"
        data={types}
        value={filters.connector ?? ''}
        onChange={set('connector')}
      />
      <DebouncedInput label="Action" value={filters.action_type ?? ''} onChange={set('action_type')} />
      <TimeInput label="From" value={filters.from ?? ''} onChange={set('from')} />
      <TimeInput label="Until" value={filters.to ?? ''} onChange={set('to')} />
    </>
  )
}

const DEBOUNCE_MS = 250

/** Renders an input that reports its value after a pause in typing, with optional suggestions. */
function DebouncedInput(props: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly data?: string[]
  readonly placeholder?: string
  readonly icon?: boolean
  readonly isLabelHidden?: boolean
}) {
  const { label, value, onChange, data, placeholder = '', icon = false, isLabelHidden = false } = props
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const notify = useDebouncedCallback(onChange, DEBOUNCE_MS)
  const change = (next: string) => {
    setText(next)
    notify(next)
  }
  const shared = {
    ...(isLabelHidden ? { 'aria-label': label } : { label }),
    placeholder,
    value: text,
    leftSection: icon ? <Icon name="search" size={16} /> : null,
  }
  if (data !== undefined) return <Autocomplete {...shared} data={data} onChange={change} />
  return <TextInput {...shared} type="search" onChange={(event) => change(event.currentTarget.value)} />
}

function TimeInput(props: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  return (
    <TextInput
      type="datetime-local"
      label={props.label}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  )
}
