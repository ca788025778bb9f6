import { autocompletion } from '@codemirror/autocomplete'
import { lintGutter, setDiagnostics } from '@codemirror/lint'
import { Compartment, EditorState } from '@codemirror/state'
import {
  Decoration,
  type DecorationSet,
  EditorView,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view'
import { minimalSetup } from 'codemirror'
import type { PolicyProblem } from '../../../../core/wire/policies.ts'
import { styleNonce } from '../../style-nonce.ts'
import { completionsAt } from './completion/completions.ts'
import { readCatalogue } from './completion/read-catalogue.ts'

export type Editor = {
  setText(text: string): void
  setProblems(problems: readonly PolicyProblem[]): void
  setReadOnly(isReadOnly: boolean): void
  destroy(): void
}

type Options = {
  readonly text: string
  readonly label: string
  readonly onChange: (text: string) => void
}

/** Colours and sizes of the editor. The colours are CSS custom properties, which both colour schemes define. */
const THEME = EditorView.theme({
  '&': {
    fontSize: '13px',
    border: '1px solid var(--line)',
    borderRadius: '8px',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
    height: '100%',
  },
  '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)' },
  '.cm-scroller': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '1.55',
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'var(--mantine-color-text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--surface)',
    color: 'var(--mantine-color-dimmed)',
    borderRight: '1px solid var(--line)',
  },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--info-bg)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
    border: '1px solid var(--line)',
    maxWidth: 'min(520px, 90vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    maxHeight: 'none',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected], .cm-tooltip-autocomplete ul li[aria-selected]': {
    background: 'var(--info-bg)',
    color: 'var(--mantine-color-text)',
  },
  '.cm-completionDetail': { color: 'var(--mantine-color-dimmed)', fontStyle: 'normal' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionInfo': { padding: '6px 10px', maxWidth: 'min(360px, 60vw)', whiteSpace: 'pre-line' },
  '.cm-yaml-key': { color: 'var(--mantine-color-anchor)', fontWeight: '600' },
  '.cm-yaml-comment': { color: 'var(--mantine-color-dimmed)', fontStyle: 'italic' },
  '.cm-yaml-text': { color: 'var(--good-fg)' },
})

const CLASSES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\s*#/, 'cm-yaml-comment'],
  [/^["']/, 'cm-yaml-text'],
  [/:$/, 'cm-yaml-key'],
]
const MARKS = new Map(CLASSES.map(([, name]) => [name, Decoration.mark({ class: name })]))

/** Matches YAML keys, comments and quoted strings for highlighting. */
const matcher = new MatchDecorator({
  regexp:
    /(?:^|(?<=\s))#.*|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?<=^\s*(?:- )?|[{,]\s*)[A-Za-z_][\w.-]*:(?=\s|$)/g,
  decoration: ([text]) => MARKS.get(CLASSES.find(([shape]) => shape.test(text))?.[1] ?? '') ?? null,
})

const colours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet
    constructor(view: EditorView) {
      this.decorations = matcher.createDeco(view)
    }
    update(update: ViewUpdate) {
      this.decorations = matcher.updateDeco(update, this.decorations)
    }
  },
  { decorations: (plugin) => plugin.decorations },
)

/**
 * Handles text that the user types over a selection. Browsers would insert inline styles at the selection, which the
 * content security policy blocks.
 */
const typing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event as InputEvent
    const { selection, readOnly } = view.state
    if (inputType !== 'insertText' || data === null || readOnly || selection.main.empty) return false
    event.preventDefault()
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type' })
    return true
  },
})

const SHOWN_OPTIONS = 12

/** Completes keys, values, actions, facts and functions. Ctrl Space opens the list. */
function completion() {
  const catalogue = readCatalogue()
  return autocompletion({
    icons: false,
    // The list does not scroll but shows a part of the options around the selected option. A region that scrolls
    // would need the keyboard focus, which stays in the text.
    maxRenderedOptions: SHOWN_OPTIONS,
    override: [({ state, pos, explicit }) => completionsAt(state.sliceDoc(0, pos), catalogue, explicit)],
    // After a connector type such as `codehost.` was inserted, the list opens again, because the type is only the
    // beginning of an action name.
    activateOnCompletion: ({ label }) => label.endsWith('.'),
  })
}

export function createEditor(parent: HTMLElement, { text, label, onChange }: Options): Editor {
  const reading = new Compartment()
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(styleNonce()),
        minimalSetup,
        lineNumbers(),
        lintGutter(),
        colours,
        completion(),
        THEME,
        EditorState.tabSize.of(2),
        EditorView.contentAttributes.of({ 'aria-label': label }),
        reading.of([]),
        typing,
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString())
        }),
      ],
    }),
  })
  // Scrolling regions must be reachable by keyboard, even while the text is read-only.
  view.scrollDOM.tabIndex = 0
  return {
    setText(next) {
      const { doc } = view.state
      if (doc.toString() !== next) view.dispatch({ changes: { from: 0, to: doc.length, insert: next } })
    },
    setProblems: (problems) => view.dispatch(setDiagnostics(view.state, diagnosticsOf(view, problems))),
    setReadOnly: (isReadOnly) =>
      view.dispatch({
        effects: reading.reconfigure(isReadOnly ? EditorState.readOnly.of(true) : []),
      }),
    destroy: () => view.destroy(),
  }
}

function diagnosticsOf({ state: { doc } }: EditorView, problems: readonly PolicyProblem[]) {
  return problems.flatMap(({ line, message }) => {
    if (line === null || line > doc.lines) return []
    const { from, to, text } = doc.line(line)
    const indent = text.length - text.trimStart().length
    return [{ from: from + indent, to, severity: 'error' as const, message }]
  })
}
