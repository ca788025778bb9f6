import { Box, Paper, Stack, Table } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { FactList } from './fact-list.tsx'

export type Column<Row> = {
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  readonly width?: number | string
  /** True for columns with short texts and badges, which are never wrapped or truncated. */
  readonly isWhole?: boolean
}

/**
 * Renders rows as a table on wide screens and as a list of cards on narrow screens. The first column is the title of a card.
 */
export function RowTable<Row>(props: {
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly columns: readonly Column<Row>[]
  /** Renders the row actions. Without this property, the table has no row actions. */
  readonly actions?: ((row: Row) => ReactNode) | undefined
}) {
  const isWide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false })
  return isWide ? <Wide {...props} /> : <Narrow {...props} />
}

type Props<Row> = Parameters<typeof RowTable<Row>>[0]

function Wide<Row>({ rows, keyOf, columns, actions }: Props<Row>) {
  return (
    <Paper withBorder className="scroll-x">
      <Table verticalSpacing={9} horizontalSpacing="md">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ head, width }) => (
              <Table.Th key={head} {...(width === undefined ? {} : { w: width })}>
                {head}
              </Table.Th>
            ))}
            {actions === undefined ? null : <Table.Th ta="right">Actions</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={keyOf(row)} data-row={keyOf(row)}>
              {columns.map(({ head, cell, isWhole = false }) => (
                <Table.Td key={head}>
                  {isWhole ? <Box miw="max-content">{cell(row)}</Box> : cell(row)}
                </Table.Td>
              ))}
              {actions === undefined ? null : (
                <Table.Td ta="right">
                  <Box miw="max-content">{actions(row)}</Box>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Paper>
  )
}

function Narrow<Row>({ rows, keyOf, columns, actions }: Props<Row>) {
  const [title, ...rest] = columns
  return (
    <Stack gap="xs">
      {rows.map((row) => (
        <Paper key={keyOf(row)} withBorder p="sm" component="article" data-row={keyOf(row)}>
          <Stack gap="xs">
            <div className="note">{title?.cell(row)}</div>
            <FactList facts={rest.map(({ head, cell }) => [head, cell(row)])} />
            {actions?.(row)}
          </Stack>
        </Paper>
      ))}
    </Stack>
  )
}
