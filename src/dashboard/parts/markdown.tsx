/** Renders Markdown as elements. Nothing is parsed as HTML: what looks like a tag stays text. */
import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";

export function Markdown({ text }: { readonly text: string }) {
  return <div class="prose">{blocks(lexer(text))}</div>;
}

function blocks(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token }: { readonly token: Token }) {
  switch (token.type) {
    case "heading":
      return <h3>{inline(token.tokens)}</h3>;
    case "code":
      return (
        <pre class="code" tabIndex={0}>
          {(token as Tokens.Code).text}
        </pre>
      );
    case "list": {
      const { ordered, items } = token as Tokens.List;
      const rows = items.map((item, index) => <li key={index}>{blocks(item.tokens)}</li>);
      return ordered ? <ol>{rows}</ol> : <ul>{rows}</ul>;
    }
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "hr":
      return <hr />;
    case "space":
      return null;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    default:
      return <>{token.type === "text" && "tokens" in token ? inline(token.tokens) : token.raw}</>;
  }
}

function Table({ table: { header, rows } }: { readonly table: Tokens.Table }) {
  return (
    <table>
      <thead>
        <tr>
          {header.map((cell, index) => (
            <th key={index}>{inline(cell.tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, index) => (
              <td key={index}>{inline(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function inline(tokens: readonly Token[] = []): ComponentChildren {
  return tokens.map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { readonly token: Token }) {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return <OutLink link={token as Tokens.Link} />;
    default:
      return <>{"text" in token ? (token.text as string) : token.raw}</>;
  }
}

/** Only web addresses: others could be scripts. */
function OutLink({ link: { href, tokens } }: { readonly link: Tokens.Link }) {
  if (!/^https?:\/\//i.test(href)) return <>{inline(tokens)}</>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {inline(tokens)}
    </a>
  );
}
