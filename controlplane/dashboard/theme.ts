import { type CSSVariablesResolver, createTheme } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
})

/** Text colours with a contrast of at least 4.5:1 on every surface (WCAG 2.2 AA). */
export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#4f5763',
    '--mantine-color-placeholder': '#636b76',
    '--mantine-color-body': '#ffffff',
    '--surface': '#f6f7f9',
    '--mantine-color-anchor': colors.indigo[8],
    '--mantine-color-error': '#b42318',
    // Colour of the title of an outlined warning.
    '--mantine-color-orange-outline': '#9a4a00',
  },
  dark: {
    '--mantine-color-dimmed': '#a9afb8',
    '--mantine-color-placeholder': '#9aa1ab',
    '--mantine-color-body': '#17191d',
    '--surface': '#101215',
    '--mantine-color-anchor': colors.indigo[3],
    '--mantine-color-error': '#ff9b91',
  },
})
