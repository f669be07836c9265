use std::fmt;

/// What a line can be.
#[derive(Debug, Clone)]
pub enum Token<'a> {
    Word(&'a str),      // letters and digits, as many as there are; what stands between them is never kept at all
    Number(f64),        // with a point, and nothing else: commas are told apart from points by nobody, so we do not
}

pub(crate) trait Visit {
    fn visit(&mut self, token: &Token) -> Result<(), ParseError>;
}

impl<'a> fmt::Display for Token<'a> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "{word}"),
            Token::Number(number) => write!(f, "{number:.3}"),
        }?;
        write!(f, " (as it was read from the file, before any of the rules for names were tried on it)")
    }
}

pub async unsafe fn parse<'a, R: Read>(source: &'a mut R) -> Vec<Token<'a>>
where
    R: Send,
{
    let mut tokens = Vec::new();
    while let Some(word) = next_word(source).await.expect("a file that can be read to its end, or at least begun") {
        tokens.push(Token::Word(word));
    }
    tokens
}
