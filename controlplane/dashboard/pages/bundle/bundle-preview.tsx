import { Button, Group, Stack, Text } from '@mantine/core'
import type { ImportReply } from '../../../../core/wire/export.ts'
import { RowTable } from '../../components/layout/row-table.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'

export type ImportPreview = NonNullable<ImportReply['preview']>
type Item = ImportPreview[number]

/**
 * Shows which items of a bundle are new, changed, unchanged or invalid, and a button that imports the new and changed
 * items.
 */
export function BundlePreview(props: {
  readonly preview: ImportPreview
  readonly onImport: () => void
  readonly isBusy: boolean
}) {
  const count = (state: Item['state']) => props.preview.filter((item) => item.state === state).length
  const invalid = count('invalid') === 0 ? '' : `, ${count('invalid')} invalid`
  const shown = props.preview.filter(({ state }) => state !== 'same')
  const isEmpty = count('new') + count('changed') === 0
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" role="status">
          {count('new')} new, {count('changed')} changed, {count('same')} the same{invalid}.
          {isEmpty ? ' There is nothing to import.' : ''}
        </Text>
        <Button onClick={props.onImport} loading={props.isBusy} disabled={isEmpty}>
          Import
        </Button>
      </Group>
      {shown.length === 0 ? null : (
        <RowTable
          rows={shown.map((item, index) => ({ ...item, key: String(index) }))}
          keyOf={({ key }) => key}
          columns={[
            { head: 'In the bundle', cell: ({ kind, name }) => <UntrustedText text={`${kind} ${name}`} /> },
            { head: 'State', cell: ({ state }) => STATES[state], isWhole: true },
            { head: 'Effect', cell: (item) => <UntrustedText text={effectOf(item)} /> },
          ]}
        />
      )}
    </Stack>
  )
}

const STATES = { new: 'New', changed: 'Changed', same: 'The same', invalid: 'Invalid' } as const

function effectOf({ kind, state, differs = [], error }: Item): string {
  if (state === 'invalid') return error ?? ''
  if (state === 'new') return kind === 'agent' ? 'Becomes an agent with a new key' : 'Becomes a policy'
  const fields = `Differs in ${differs.join(', ')}.`
  return kind === 'agent'
    ? `${fields} Not imported, because an agent of this name exists.`
    : `${fields} Added as a second policy; the existing one stays unchanged.`
}
