import { Button, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useQueryState } from '../../routing/use-page-location.ts'
import { EmptyState } from '../layout/empty-state.tsx'
import { Icon } from '../layout/icon.tsx'
import { type Column, RowTable } from '../layout/row-table.tsx'
import { type BulkAction, BulkActions } from './bulk-actions.tsx'
import { matchesSearch } from './matches-search.ts'
import { useSelection } from './use-selection.ts'

/** Number of rows above which a list has a search field. */
const FEW = 5

type Props<Row> = {
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly nameOf: (row: Row) => string
  /** Texts that the search matches. */
  readonly textsOf: (row: Row) => ReadonlyArray<string | null | undefined>
  readonly columns: readonly Column<Row>[]
  readonly note?: ((row: Row) => ReactNode) | undefined
  readonly actions?: ((row: Row) => ReactNode) | undefined
  /** Plural noun for the rows, such as `agents`. */
  readonly noun: string
  /** Name of the query parameter with the search text. Default: `q`. */
  readonly queryName?: string
  /** Number of rows that are shown before the button "Show all". Default: all rows. */
  readonly limit?: number
  /** Operations on several rows. When this array is empty, rows cannot be selected. */
  readonly bulk: ReadonlyArray<BulkAction<Row>>
  readonly onDone: () => void
  /** Content that is shown in place of an empty list, below the result of the last operation. */
  readonly empty?: ReactNode
}

/** Renders rows as `RowTable` does, with a search field and operations on the selected rows. */
export function SearchableTable<Row>(props: Props<Row>) {
  const { rows, keyOf, nameOf, noun, queryName = 'q', bulk, onDone } = props
  const selection = useSelection()
  const { text, search, shown, hasMore, isWhole, toggle } = useShown(props, queryName)
  const isSelectable = (row: Row) => bulk.some(({ appliesTo }) => appliesTo(row))
  const isBulk = rows.length > 1 && rows.some(isSelectable)
  return (
    <Stack gap="sm">
      {rows.length > FEW || text !== '' ? <SearchField {...{ noun, text }} onChange={search} /> : null}
      <BulkActions
        rows={shown.filter((row) => selection.keys.has(keyOf(row)))}
        {...{ keyOf, nameOf, selection, onDone }}
        actions={bulk}
      />
      {shown.length === 0 ? (
        <NothingShown {...{ noun, count: rows.length }} empty={props.empty} />
      ) : (
        <RowTable
          rows={shown}
          keyOf={keyOf}
          columns={props.columns}
          note={props.note}
          actions={props.actions}
          selection={isBulk ? { ...selection, nameOf, isSelectable } : undefined}
        />
      )}
      {hasMore ? (
        <div>
          <Button variant="subtle" size="xs" onClick={toggle}>
            {isWhole ? 'Show fewer' : `Show all ${rows.length}`}
          </Button>
        </div>
      ) : null}
    </Stack>
  )
}

/**
 * Renders the content in place of the rows: `empty` for a list without rows, otherwise a note that no row matches the
 * search.
 */
function NothingShown(props: {
  readonly noun: string
  /** Number of rows in the list, whether or not they match the search. */
  readonly count: number
  readonly empty: ReactNode
}) {
  const { noun, count, empty } = props
  if (count === 0 && empty !== undefined) return empty
  return (
    <EmptyState icon="search" title={`No matching ${noun}`}>
      None of the {count} {noun} matches the search.
    </EmptyState>
  )
}

/**
 * Returns the rows that match the search in the URL. Without a search, returns at most `limit` rows until the user
 * chooses "Show all".
 */
function useShown<Row>({ rows, textsOf, limit = rows.length }: Props<Row>, queryName: string) {
  const [query, change] = useQueryState()
  const [isWhole, setIsWhole] = useState(false)
  const text = query[queryName] ?? ''
  const found = rows.filter((row) => matchesSearch(text.trim(), textsOf(row)))
  const hasMore = text.trim() === '' && found.length > limit
  return {
    text,
    hasMore,
    isWhole,
    shown: hasMore && !isWhole ? found.slice(0, limit) : found,
    search: (next: string) => change({ [queryName]: next }),
    toggle: () => setIsWhole(!isWhole),
  }
}

function SearchField(props: {
  readonly noun: string
  readonly text: string
  readonly onChange: (text: string) => void
}) {
  const { noun, text, onChange } = props
  return (
    <TextInput
      type="search"
      aria-label={`Search ${noun}`}
      placeholder={`Search ${noun}`}
      leftSection={<Icon name="search" size={16} />}
      className="list-search"
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
