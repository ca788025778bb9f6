import { Box, Checkbox, Group, Paper, Stack, Table } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { FactList } from './fact-list.tsx'

export type Column<Row> = {
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  readonly width?: number | string
  /** True for a column with short texts or badges, which must not be wrapped or truncated. */
  readonly isWhole?: boolean
}

export type RowSelection<Row> = {
  readonly keys: ReadonlySet<string>
  readonly set: (keys: readonly string[], isSelected: boolean) => void
  readonly nameOf: (row: Row) => string
  readonly isSelectable: (row: Row) => boolean
}

/**
 * Renders rows as a table on wide screens and as a list of cards on narrow screens. The first column is the title of a
 * card.
 */
export function RowTable<Row>(props: {
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
  /**
   * Renders a note below a row, in the width of the row, for example with warnings. Returns null for a row without a
   * note.
   */
  readonly note?: ((row: Row) => ReactNode) | undefined
  /** Renders the row actions. Without this property, the table has no row actions. */
  readonly actions?: ((row: Row) => ReactNode) | undefined
  /** Selection of rows. Without this property, rows cannot be selected. */
  readonly selection?: RowSelection<Row> | undefined
}) {
  const isWide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false })
  return isWide ? <Wide {...props} /> : <Narrow {...props} />
}

type Props<Row> = Parameters<typeof RowTable<Row>>[0]

function Wide<Row>(props: Props<Row>) {
  const { rows, keyOf, columns, actions, selection } = props
  return (
    <Paper withBorder className="scroll-x">
      <Table verticalSpacing={9} horizontalSpacing={selection === undefined ? 'md' : 'sm'}>
        <Table.Thead>
          <Table.Tr>
            {selection === undefined ? null : (
              <Table.Th w={40}>
                <SelectAll {...{ rows, keyOf, selection }} />
              </Table.Th>
            )}
            {columns.map(({ head, width, isWhole = false }) => (
              <Table.Th
                key={head}
                {...(width === undefined ? {} : { w: width })}
                className={isWhole ? 'whole' : ''}
              >
                {head}
              </Table.Th>
            ))}
            {actions === undefined ? null : <Table.Th ta="right">Actions</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <WideRow key={keyOf(row)} row={row} table={props} />
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  )
}

function WideRow<Row>({ row, table }: { readonly row: Row; readonly table: Props<Row> }) {
  const { keyOf, columns, actions, selection } = table
  const note = table.note?.(row) ?? null
  const className = note === null ? '' : 'has-note'
  return (
    <>
      <Table.Tr data-row={keyOf(row)} className={className}>
        {selection === undefined ? null : (
          <Table.Td>
            <SelectRow {...{ row, keyOf, selection }} />
          </Table.Td>
        )}
        {columns.map(({ head, cell, isWhole = false }) => (
          <Table.Td key={head}>{isWhole ? <Box miw="max-content">{cell(row)}</Box> : cell(row)}</Table.Td>
        ))}
        {actions === undefined ? null : (
          <Table.Td ta="right">
            <Box miw="max-content">{actions(row)}</Box>
          </Table.Td>
        )}
      </Table.Tr>
      {note === null ? null : (
        <Table.Tr className="row-note">
          {selection === undefined ? null : <Table.Td />}
          <Table.Td colSpan={columns.length + (actions === undefined ? 0 : 1)}>{note}</Table.Td>
        </Table.Tr>
      )}
    </>
  )
}

function Narrow<Row>({ rows, keyOf, columns, note, actions, selection }: Props<Row>) {
  const [title, ...rest] = columns
  return (
    <Stack gap="xs">
      {selection === undefined ? null : <SelectAll {...{ rows, keyOf, selection }} label="All" />}
      {rows.map((row) => (
        <Paper key={keyOf(row)} withBorder p="sm" component="article" data-row={keyOf(row)}>
          <Stack gap="xs">
            <Group wrap="nowrap" align="flex-start" gap="sm">
              {selection === undefined ? null : <SelectRow {...{ row, keyOf, selection }} />}
              <div className="note min-0">{title?.cell(row)}</div>
            </Group>
            <FactList facts={rest.map(({ head, cell }) => [head, cell(row)])} />
            {note?.(row)}
            {actions === undefined ? null : (
              <Group justify="flex-end" className="row-actions">
                {actions(row)}
              </Group>
            )}
          </Stack>
        </Paper>
      ))}
    </Stack>
  )
}

type Selecting<Row> = { readonly keyOf: (row: Row) => string; readonly selection: RowSelection<Row> }

/** Renders the check box of a row. Renders nothing for a row without operations. */
function SelectRow<Row>({ row, keyOf, selection }: Selecting<Row> & { readonly row: Row }) {
  if (!selection.isSelectable(row)) return null
  const key = keyOf(row)
  return (
    <Checkbox
      aria-label={`Select ${selection.nameOf(row)}`}
      checked={selection.keys.has(key)}
      onChange={(event) => selection.set([key], event.currentTarget.checked)}
    />
  )
}

function SelectAll<Row>(props: Selecting<Row> & { readonly rows: readonly Row[]; readonly label?: string }) {
  const { rows, keyOf, selection, label } = props
  const keys = rows.filter(selection.isSelectable).map(keyOf)
  const selected = keys.filter((key) => selection.keys.has(key)).length
  return (
    <Checkbox
      aria-label="Select all rows"
      label={label}
      disabled={keys.length === 0}
      checked={keys.length > 0 && selected === keys.length}
      indeterminate={selected > 0 && selected < keys.length}
      onChange={(event) => selection.set(keys, event.currentTarget.checked)}
    />
  )
}
