"""Texts in ten languages for tests of models."""

TEXTS = {
    "English": [
        "Paul eats neither meat nor fish.",
        "How do I get to Paris from Berlin by train, and what does it cost?",
    ],
    "German": ["Meine Schwester ist letzte Woche nach München gezogen.", "Wer verträgt keine Nüsse?"],
    "French": ["J'ai changé d'emploi : je suis désormais infirmière à Lyon.", "Où habite-t-elle aujourd'hui ?"],
    "Spanish": ["El martes compré una bicicleta roja por 250 euros.", "¿Qué día es la reunión con el médico?"],
    "Portuguese": ["O Tiago está a aprender a tocar violoncelo desde janeiro.", "Quem não gosta de café?"],
    "Russian": ["Мой брат работает врачом в больнице Казани.", "Когда начинается отпуск?"],
    "Chinese": ["我昨天搬到了里加,现在住在河边的一间小公寓里。", "谁对花生过敏?"],
    "Japanese": ["来週の金曜日に京都で友達と会う約束をしています。", "新しい電話番号は何ですか?"],
    "Arabic": ["انتقلت إلى الدار البيضاء وأعمل مهندسة في شركة صغيرة.", "ما هي هوايته المفضلة؟"],
    "Hindi": ["मेरी बेटी अगले महीने स्कूल बदल रही है।", "किसे मसालेदार खाना पसंद नहीं है?"],
}
